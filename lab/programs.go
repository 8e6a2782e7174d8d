package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Program is what every user of the machine may see of a process: its arguments, and what its own user may: its
// environment. Both as the kernel keeps them, a NUL after each entry.
type Program struct {
	PID       int
	Args, Env string
	// Unread is why one of both could not be read: a container engine's own process, for the moment before it becomes the
	// target's, may hide them.
	Unread error
}

// Programs lists the processes of the lab that run, the suite's own included.
func Programs() ([]Program, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	var all []Program
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !Running(pid) {
			continue
		}
		args, argsErr := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, envErr := os.ReadFile(filepath.Join(dir, "environ"))
		unread := errors.Join(argsErr, envErr)
		if !Running(pid) || errors.Is(unread, syscall.ESRCH) {
			continue // it ended, or is about to
		}
		all = append(all, Program{PID: pid, Args: string(args), Env: string(env), Unread: unread})
	}
	return all, nil
}
