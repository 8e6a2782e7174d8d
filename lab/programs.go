package lab

import (
	"errors"
	"fmt"
	"io/fs"
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
		if err := errors.Join(argsErr, envErr); err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || !Running(pid) {
				continue // it ended meanwhile
			}
			return nil, fmt.Errorf("reading the arguments and the environment of process %d: %w", pid, err)
		}
		all = append(all, Program{PID: pid, Args: string(args), Env: string(env)})
	}
	return all, nil
}
