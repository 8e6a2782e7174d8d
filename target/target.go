// Package target starts and stops the sidecar under test: as a command in the lab's own namespaces, or as a container that
// the launcher on the host starts for the lab. Either way a spec holds a Process and never learns which it is.
package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// Options says how one sidecar is to be run.
type Options struct {
	// Args follow the sidecar's own command or image; nil means "serve".
	Args []string `json:"args,omitempty"`
	// Stdin is written to the sidecar's standard input, which is then closed.
	Stdin []byte `json:"stdin,omitempty"`
	// Env is added to the sidecar's environment, as KEY=value.
	Env []string `json:"env,omitempty"`
}

func (o Options) args() []string {
	if o.Args == nil {
		return []string{"serve"}
	}
	return o.Args
}

// Runner starts sidecars of one kind.
type Runner interface {
	// Start returns once the process runs; that it listens shows on its standard output.
	Start(ctx context.Context, o Options) (*Process, error)
}

// Exit is how a process ended. A process that a signal ended has Signal set and Code 128 + its number, as a shell and a
// container engine report it.
type Exit struct {
	Code   int            `json:"code"`
	Signal syscall.Signal `json:"signal,omitempty"`
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("ended by %s", e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Process is one started sidecar.
type Process struct {
	Stdout, Stderr *Output
	// PID is the process's id in the lab, 0 where it isn't known: a container's is told by its ready line.
	PID int

	control control
	exited  chan struct{}
	once    sync.Once
	exit    Exit
}

// control is what a kind of target does differently.
type control interface {
	signal(ctx context.Context, s syscall.Signal) error
	// remove ends whatever is left of the process and its descendants, and frees what it held.
	remove(ctx context.Context) error
}

func newProcess(c control) *Process {
	return &Process{Stdout: NewOutput(), Stderr: NewOutput(), control: c, exited: make(chan struct{})}
}

// ended tells everyone who waits, once the output is complete.
func (p *Process) ended(e Exit) {
	p.once.Do(func() {
		p.exit = e
		p.Stdout.close()
		p.Stderr.close()
		close(p.exited)
	})
}

// Signal sends s to the sidecar's first process.
func (p *Process) Signal(ctx context.Context, s syscall.Signal) error {
	if err := p.control.signal(ctx, s); err != nil {
		return fmt.Errorf("sending %s to the target: %w", s, err)
	}
	return nil
}

// Exited is closed when the process has ended and its output is complete.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit is how the process ended. It may be called once Exited is closed.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Wait blocks until the process has ended.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.exited:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("waiting for the target to end: %w", ctx.Err())
	}
}

// Remove ends the process by force where it still runs, with whatever it started, and waits until it is gone.
func (p *Process) Remove(ctx context.Context) error {
	if err := p.control.remove(ctx); err != nil {
		return fmt.Errorf("removing the target: %w", err)
	}
	_, err := p.Wait(ctx)
	return err
}

// DiedError tells of a target that ended before it was ready.
type DiedError struct {
	Exit Exit
	// Log is the end of its standard error.
	Log string
}

func (e *DiedError) Error() string {
	return fmt.Sprintf("the target ended before it was ready (%s); its last lines:\n%s", e.Exit, e.Log)
}

// ErrNotReady tells of a target that printed no ready line in time.
var ErrNotReady = errors.New("the target printed no ready line in time")

// ReadyLine waits for the first line on standard output, at most for the given time. A target that ends before it is
// reported at once, as a *DiedError.
func (p *Process) ReadyLine(ctx context.Context, within time.Duration) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, ErrNotReady)
	defer cancel()
	line, err := p.Stdout.Line(ctx, 0)
	switch {
	case err == nil:
		return line, nil
	case errors.Is(err, errOutputEnded):
		return "", &DiedError{Exit: p.Exit(), Log: p.Stderr.Tail(20)}
	default:
		return "", fmt.Errorf("%w (%s); its last lines:\n%s", err, within, p.Stderr.Tail(20))
	}
}
