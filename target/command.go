package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// labUID is the target's user id: not 0, so that Chromium's own sandbox works, and without capabilities.
const labUID = 1000

// Command runs a sidecar's command in the lab's namespaces, in a user namespace of its own.
type Command struct {
	// Argv is the command and its first arguments, such as ["bin/sidecar"].
	Argv []string
	// Dir is its working directory and Env its whole environment.
	Dir string
	Env []string
}

// Start runs the command under a non-zero user id without capabilities.
func (c *Command) Start(_ context.Context, o Options) (*Process, error) {
	argv := append(append([]string{}, c.Argv...), o.args()...)
	// The process outlives the call that starts it: Remove ends it, not a context.
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // see above
	cmd.Dir = c.Dir
	cmd.Env = append(append([]string{}, c.Env...), o.Env...)
	cmd.Stdin = bytes.NewReader(o.Stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:      true,
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: labUID, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: labUID, HostID: os.Getgid(), Size: 1}},
	}
	// What a descendant still holds open must not keep Wait from returning.
	cmd.WaitDelay = time.Second
	control := &commandControl{cmd: cmd}
	p := newProcess(control)
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	p.PID = cmd.Process.Pid
	// Before Wait, while even one that has ended is still there as a zombie.
	control.namespace = holdUserNamespace(p.PID)
	go func() {
		// An error of Wait is the exit code, or that the output was cut off; both show elsewhere.
		_ = cmd.Wait()
		p.ended(exitOf(cmd.ProcessState))
	}()
	return p, nil
}

func exitOf(s *os.ProcessState) Exit {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: s.ExitCode()}
}

type commandControl struct {
	cmd *exec.Cmd
	// namespace is the user namespace that the command has to itself, held until the command is removed: the kernel would
	// give the next command's the same name. It is nil where it may not be looked at.
	namespace *os.File
}

func (c *commandControl) signal(_ context.Context, s syscall.Signal) error {
	return c.cmd.Process.Signal(s)
}

// remove kills the descendants too, and those whose parents are gone: a target that leaves a browser behind must not
// disturb the next spec.
func (c *commandControl) remove(ctx context.Context) error {
	pid := c.cmd.Process.Pid
	namespace := nameOf(c.namespace)
	left := append(Descendants(pid), members(namespace)...)
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	// Whoever is killed may have started another one just before.
	for ; len(left) > 0; left = members(namespace) {
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("killing process %d: %w", pid, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("killing processes %v: %w", left, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	if c.namespace != nil {
		// It may have been removed before.
		_ = c.namespace.Close()
	}
	return nil
}
