package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/lab/wire"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// labInitCommand is process 1 of a command target's lab.
func labInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "lab-init DIR COMMAND…",
		Hidden: true,
		Args:   cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			code, err := lab.Init(args[0], args[1:])
			if err != nil {
				return failure{err}
			}
			return exitError{code}
		},
	}
}

// shardCommand runs specs inside the lab, as its standard input orders.
func shardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "shard DIR",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := takeStdout()
			if err != nil {
				return failure{err}
			}
			if err := shard(cmd.Context(), args[0], os.Stdin, out); err != nil {
				return failure{err}
			}
			return nil
		},
	}
}

// takeStdout keeps standard output for the wire: whatever else a library prints there, as Ginkgo does, goes nowhere.
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("keeping standard output: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	defer null.Close()
	if err := unix.Dup3(int(null.Fd()), int(os.Stdout.Fd()), 0); err != nil {
		return nil, fmt.Errorf("silencing standard output: %w", err)
	}
	return os.NewFile(uintptr(fd), "wire"), nil
}

// inbox takes what the launcher sends to a shard.
type inbox struct {
	orders chan engine.Order
	remote *target.Remote
	broken chan error
}

func (i *inbox) Call(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, fmt.Errorf("a shard has no call %q", method)
}

func (i *inbox) Event(method string, params json.RawMessage) {
	handled, err := i.remote.Event(method, params)
	if !handled && method == "order" {
		var order engine.Order
		if err = json.Unmarshal(params, &order); err == nil {
			i.orders <- order
		}
	}
	if err != nil {
		select {
		case i.broken <- fmt.Errorf("reading %s: %w", method, err):
		default:
		}
	}
}

// shard serves one order. The end of its input means that the launcher wants it to stop.
func shard(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	conn := wire.New(in, out)
	box := &inbox{orders: make(chan engine.Order, 1), remote: target.NewRemote(conn), broken: make(chan error, 1)}
	served := make(chan error, 1)
	go func() { served <- conn.Serve(ctx, box) }()
	select {
	case order := <-box.orders:
		go func() {
			if err := <-served; err != nil {
				fmt.Fprintln(os.Stderr, "conformance:", err)
			}
			// Ginkgo ends a run in order when it is interrupted.
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		}()
		return obey(ctx, conn, box, dir, order)
	case err := <-box.broken:
		return err
	case err := <-served:
		return errors.Join(errors.New("no order came"), err)
	}
}

func obey(ctx context.Context, conn *wire.Conn, box *inbox, dir string, order engine.Order) (err error) {
	broken := func(err error) error {
		return conn.Notify(engine.EventBroken, engine.Reason{Reason: err.Error()})
	}
	var runner target.Runner = box.remote
	if order.Target.Kind == "command" {
		runner = &target.Command{Argv: order.Target.Argv, Dir: dir, Env: commandEnv(dir)}
	}
	l, err := lab.Open(ctx, lab.Options{
		Dir: dir, Runner: runner, Sandbox: order.Target.Sandbox, ReadyWithin: order.Target.ReadyWithin,
	})
	if err != nil {
		return broken(fmt.Errorf("setting the lab up: %w", err))
	}
	defer func() {
		if closeErr := l.Close(context.WithoutCancel(ctx)); closeErr != nil {
			err = errors.Join(err, broken(fmt.Errorf("putting the lab away: %w", closeErr)))
		}
		err = errors.Join(err, conn.Notify(engine.EventFinished, struct{}{}))
	}()
	sidecar, err := l.Sidecar(ctx)
	if err != nil {
		return conn.Notify(engine.EventNeverReady, engine.Reason{Reason: l.Redact(err.Error())})
	}
	_, suite, err := loadContract(l)
	if err != nil {
		return broken(err)
	}
	planned := engine.Planned{Specs: suite.Count(order.Clauses), TargetVersion: sidecar.Version}
	if err := conn.Notify(engine.EventPlanned, planned); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return broken(fmt.Errorf("the lab was told to stop before its first spec: %w", err))
	}
	if err := suite.Run(order, l, redacting{conn, l}); err != nil {
		return broken(fmt.Errorf("telling of the specs: %w", err))
	}
	return nil
}

// redacting takes the lab's secrets out of every event before it leaves the lab.
type redacting struct {
	sink engine.Sink
	lab  *lab.Lab
}

func (r redacting) Notify(method string, params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", method, err)
	}
	return r.sink.Notify(method, json.RawMessage(r.lab.Redact(string(text))))
}

// commandEnv is the environment of a command target: what it needs to find programs, and nothing of the caller's secrets.
// Temporary files go where they vanish with the lab.
func commandEnv(dir string) []string {
	env := []string{"LANG=C.UTF-8", "TMPDIR=" + dir}
	if path, ok := os.LookupEnv("PATH"); ok {
		env = append(env, "PATH="+path)
	}
	return env
}
