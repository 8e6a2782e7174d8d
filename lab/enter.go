package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Init is the first process of the lab's namespaces when the target is a command. It lays the mounts out below dir, runs
// argv and reaps every process that loses its parent, until argv has ended; then the kernel ends all that is left.
// It returns argv's exit code.
func Init(dir string, argv []string) (int, error) {
	if os.Getpid() != 1 {
		return 0, errors.New("the lab's first process must be process 1 of its own namespace")
	}
	if err := mounts(dir); err != nil {
		return 0, err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, fmt.Errorf("finding the shard's command: %w", err)
	}
	// The shard must not outlive this thread's process, and the thread must not end before it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	shard, err := os.StartProcess(path, argv, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("starting the shard: %w", err)
	}
	return reap(shard.Pid)
}

// reap waits for every child, its own and adopted ones, until the given one has ended.
func reap(pid int) (int, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("waiting for the lab's processes: %w", err)
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case ended == pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// mounts gives the lab a /proc of its own, a directory that vanishes with it, and its own resolver files.
func mounts(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mounting the lab's directory: %w", err)
	}
	for path, content := range map[string]string{
		"/etc/resolv.conf": ResolvConf(),
		"/etc/hosts":       "127.0.0.1 localhost\n::1 localhost ip6-localhost\n",
	} {
		if err := replace(dir, path, content); err != nil {
			return fmt.Errorf("replacing %s: %w", path, err)
		}
	}
	return nil
}

// replace binds a file of the lab over path, or over what path links to.
func replace(dir, path, content string) error {
	own := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(own, []byte(content), 0o644); err != nil { //nolint:gosec // every user of the lab reads it
		return err
	}
	linked, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	return syscall.Mount(own, linked, "", syscall.MS_BIND, "")
}

// SearchDomain is the search list of the lab's resolver: a name of a page must never be looked up below it.
const SearchDomain = "search.test"

// Nameserver is the address of the lab's DNS server, on port 53.
func Nameserver() string { return dnsAddr().Addr().String() }

// ResolvConf is the resolver file that the target sees.
func ResolvConf() string {
	return strings.Join([]string{"nameserver " + Nameserver(), "search " + SearchDomain, "options ndots:5 timeout:2 attempts:2", ""}, "\n")
}
