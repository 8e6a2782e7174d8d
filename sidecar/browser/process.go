package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running Chromium with everything that it started: they share one process group.
type process struct {
	pid      int
	commands *os.File // ours to write; Chromium's descriptor 3
	answers  *os.File // ours to read; Chromium's descriptor 4
	stderr   *tail
	exited   chan struct{} // closed when Chromium has been waited for and its group was killed
	status   error         // why it ended; valid after exited

	mu     sync.Mutex
	reaped bool // the group's id may be another's from now on
}

// spawn starts path. Chromium dies when the sidecar does, SIGKILL included: the kernel signals it at the death of
// the thread that started it, so that thread is kept for as long as Chromium lives.
func spawn(path string, args, env []string) (*process, error) {
	childIn, commands, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the command pipe: %w", err)
	}
	answers, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the answer pipe: %w", err), childIn.Close(), commands.Close())
	}
	p := &process{commands: commands, answers: answers, stderr: &tail{limit: 8 << 10}, exited: make(chan struct{})}
	cmd := exec.CommandContext(context.Background(), path, args...) // it outlives the start
	cmd.Env = env
	cmd.Stderr = p.stderr
	cmd.ExtraFiles = []*os.File{childIn, childOut}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Children of Chromium hold its stderr for a moment longer than it lives.
	cmd.WaitDelay = 200 * time.Millisecond

	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine, after Chromium did
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		p.killWhatOutlivesIt()
		err = cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
		p.status = err
		close(p.exited)
	}()
	err = errors.Join(<-started, childIn.Close(), childOut.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", path, err), commands.Close(), answers.Close())
	}
	return p, nil
}

// killWhatOutlivesIt waits for Chromium's end and kills the rest of its group while Chromium, not yet reaped, still holds
// the group's id.
func (p *process) killWhatOutlivesIt() {
	for errors.Is(unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	p.reaped = true
}

// killGroup ends Chromium and all that it started. A group that is gone already is no error worth telling.
func (p *process) killGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
}

// wait returns nil once Chromium is gone, or why it stopped waiting.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for Chromium to end: %w", context.Cause(ctx))
	}
}

// failure words an exit before the first answer.
func (p *process) failure(sandbox bool) error {
	status := "exit status 0"
	if p.status != nil {
		status = p.status.Error()
	}
	output := p.stderr.String()
	if sandbox && strings.Contains(strings.ToLower(output), "sandbox") {
		return fmt.Errorf("the sandbox of Chromium itself can't be used here, as root or without user namespaces, and "+
			"chromium_sandbox is true (%s): %s", status, output)
	}
	return fmt.Errorf("it ended at once (%s): %s", status, output)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - t.limit; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

// String returns the last lines on one line, since a start error is one line on stderr.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.FieldsFunc(strings.ToValidUTF8(string(t.kept), "?"), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-6):], " | ")
}

// smallSharedMemory tells whether /dev/shm is too small for Chromium, as it is in a plain container (64 MiB).
func smallSharedMemory() bool {
	var stat unix.Statfs_t
	if unix.Statfs("/dev/shm", &stat) != nil {
		return true
	}
	return stat.Blocks*uint64(stat.Bsize) < 1<<30
}
