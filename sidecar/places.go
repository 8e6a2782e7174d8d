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

// prefix begins the name of every directory that a sidecar makes in its working directory, unlockedPrefix for the moment
// until it has the lock. Digits follow.
const (
	prefix         = "browser-sidecar-"
	unlockedPrefix = ".new-" + prefix
)

// The directories in it.
const profileName, uploadsName, outputName = "profile", "uploads", "output"

// places are one start's directories, all in one that only this user can enter. It is locked for as long as the process
// lives, so that a later start can tell a killed one's directory from that of a sidecar which still runs.
type places struct {
	root    string
	profile string // Chromium's
	uploads string // the tools' working directory
	output  string // what tools write, and downloads
	lock    *os.File
	workdir string
}

// makePlaces makes the directories in workdir, which must exist, or in the system's temporary directory where it is
// empty. What a killed sidecar left there is removed first.
func makePlaces(ctx context.Context, workdir string, log *slog.Logger) (*places, error) {
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
	sweep(ctx, workdir, log)
	p, err := makeRoot(workdir)
	if err != nil {
		return nil, fmt.Errorf("making directories in workdir: %w", err)
	}
	for name, path := range map[string]*string{profileName: &p.profile, uploadsName: &p.uploads, outputName: &p.output} {
		*path = filepath.Join(p.root, name)
		if err := os.Mkdir(*path, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("making directories in workdir: %w", err), p.remove(context.WithoutCancel(ctx)))
		}
	}
	return p, nil
}

// makeRoot takes the lock before the directory has the name that sweep looks for.
func makeRoot(workdir string) (p *places, err error) {
	// A start beside this one may take the unlocked directory for a killed sidecar's: then there is another.
	for range 5 {
		if p, err = tryRoot(workdir); err == nil || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
	}
	return p, err
}

func tryRoot(workdir string) (*places, error) {
	unlocked, err := os.MkdirTemp(workdir, unlockedPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := os.Open(unlocked)
	if err != nil {
		return nil, errors.Join(err, removeEmpty(unlocked))
	}
	root := filepath.Join(workdir, prefix+strings.TrimPrefix(filepath.Base(unlocked), unlockedPrefix))
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(unlocked, root)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close(), removeEmpty(unlocked))
	}
	return &places{workdir: workdir, root: root, lock: lock}, nil
}

func removeEmpty(dir string) error {
	if err := os.Remove(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// remove removes everything, and once more what killed sidecars left: a browser that was still ending when this one started
// may have written again.
func (p *places) remove(ctx context.Context) error {
	err := removeAll(ctx, p.root)
	sweep(ctx, p.workdir, slog.New(slog.DiscardHandler))
	return errors.Join(err, p.lock.Close())
}

// removeAll removes a directory in which a process of the browser's that is just ending may still write: then it tries
// again, for a bounded time even where ctx has none.
func removeAll(ctx context.Context, path string) error {
	var err error
	for range 20 {
		if err = os.RemoveAll(path); err == nil || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}
