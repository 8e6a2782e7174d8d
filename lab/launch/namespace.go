package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Namespaces starts a shard in new user, network, mount and process namespaces of this machine. No privilege is needed.
// argv, given the lab's directory as "{dir}", must be a command that ends in lab.Init, such as this binary's own.
// The directory is private to the lab: a file system that vanishes with it is mounted there.
func Namespaces(ctx context.Context, argv func(dir string) []string, stderr io.Writer) (*Shard, error) {
	dir, err := newDirectory("/tmp")
	if err != nil {
		return nil, err
	}
	shard, err := namespaces(ctx, dir, argv(dir.path), stderr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the lab: %w", err), dir.remove())
	}
	return shard, nil
}

func namespaces(ctx context.Context, dir *directory, argv []string, stderr io.Writer) (*Shard, error) {
	// Run ends the process, after it has had the time to stop by itself.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		// A terminal's Ctrl-C is for the launcher, which stops the lab in order; its own death ends the lab at once.
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL,
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	// Not cmd.StdoutPipe: Wait would close that one under the reader.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), in.Close())
	}
	cmd.Stdout = theirs
	exited, err := startOnOwnThread(cmd)
	_ = theirs.Close()
	if err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("this machine allows no user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone): %w", err)
		}
		return nil, errors.Join(err, out.Close())
	}
	shard := newShard(out, in)
	shard.end = func(ctx context.Context) (int, error) {
		select {
		case <-exited:
		case <-ctx.Done():
			// Process 1 of the namespaces takes everything in them with it.
			_ = cmd.Process.Kill()
			<-exited
		}
		return cmd.ProcessState.ExitCode(), errors.Join(out.Close(), dir.remove())
	}
	return shard, nil
}

// startOnOwnThread starts cmd from a thread that lives until cmd has ended: the kernel sends the parent-death signal
// when the thread that started the process ends, not when the whole program does.
func startOnOwnThread(cmd *exec.Cmd) (exited <-chan struct{}, err error) {
	started := make(chan error)
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		// The state tells how it ended.
		_ = cmd.Wait()
		close(done)
	}()
	return done, <-started
}
