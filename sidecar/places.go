package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// prefix begins the name of every directory that a sidecar makes in its working directory.
const prefix = "browser-sidecar-"

// places are one start's directories, all in one that only this user can enter. It is locked for as long as the process
// lives, so that a later start can tell a killed one's directory from that of a sidecar which still runs.
type places struct {
	root    string
	profile string // Chromium's
	uploads string // the tools' working directory
	output  string // what tools write, and downloads
	lock    *os.File
}

// makePlaces makes the directories in workdir, which must exist, or in the system's temporary directory where it is
// empty. What a killed sidecar left there is removed first.
func makePlaces(workdir string, log *slog.Logger) (*places, error) {
	if workdir == "" {
		workdir = os.TempDir()
	}
	workdir, err := filepath.Abs(workdir)
	if err != nil {
		return nil, fmt.Errorf("workdir must be a directory path: %w", err)
	}
	if info, err := os.Stat(workdir); err != nil {
		return nil, fmt.Errorf("workdir must be an existing directory: %w", err)
	} else if !info.IsDir() {
		return nil, errors.New("workdir must be an existing directory, and it is a file")
	}
	sweep(workdir, log)
	p, err := makeRoot(workdir)
	if err != nil {
		return nil, fmt.Errorf("making directories in workdir: %w", err)
	}
	for name, path := range map[string]*string{"profile": &p.profile, "uploads": &p.uploads, "output": &p.output} {
		*path = filepath.Join(p.root, name)
		if err := os.Mkdir(*path, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("making directories in workdir: %w", err), p.remove(context.Background()))
		}
	}
	return p, nil
}

// makeRoot takes the lock before the directory has the name that sweep looks for.
func makeRoot(workdir string) (*places, error) {
	unlocked, err := os.MkdirTemp(workdir, ".new-"+prefix)
	if err != nil {
		return nil, err
	}
	lock, err := os.Open(unlocked)
	if err != nil {
		return nil, errors.Join(err, os.Remove(unlocked))
	}
	root := filepath.Join(workdir, strings.TrimPrefix(filepath.Base(unlocked), ".new-"))
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(unlocked, root)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close(), os.Remove(unlocked))
	}
	return &places{root: root, lock: lock}, nil
}

// sweep removes the directories in workdir whose sidecar is gone. One that can't be removed hinders nobody.
func sweep(workdir string, log *slog.Logger) {
	entries, err := os.ReadDir(workdir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		path := filepath.Join(workdir, e.Name())
		if removed, err := removeAbandoned(path); err != nil {
			log.Warn("could not remove a killed sidecar's directory", "cause", err)
		} else if removed {
			log.Info("removed a killed sidecar's directory")
		}
	}
}

func removeAbandoned(path string) (removed bool, err error) {
	lock, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false, nil // its sidecar lives
	}
	return true, os.RemoveAll(path)
}

// remove removes everything. A process of the browser's that is just ending may still write: then it tries again, for a
// bounded time even where ctx has none.
func (p *places) remove(ctx context.Context) error {
	var err error
	for range 20 {
		if err = os.RemoveAll(p.root); err == nil || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.Join(err, p.lock.Close())
}
