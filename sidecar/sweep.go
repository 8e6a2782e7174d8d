package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// sweep removes the directories in workdir whose sidecar is gone. One that can't be removed hinders nobody.
func sweep(ctx context.Context, workdir string, log *slog.Logger) {
	entries, err := os.ReadDir(workdir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(workdir, e.Name())
		if !ours(e, path) {
			continue
		}
		if removed, err := removeAbandoned(ctx, path); err != nil {
			log.Warn("could not remove a killed sidecar's directory", "cause", err)
		} else if removed {
			log.Info("removed a killed sidecar's directory")
		}
	}
}

// ours tells a directory that a sidecar made, living or not: by its name, owner and mode, and since a working directory is
// full of other people's files, also by what is in it.
func ours(e os.DirEntry, path string) bool {
	info, err := e.Info()
	if err != nil || info.Mode() != os.ModeDir|0o700 {
		return false
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
		return false
	}
	inside, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	if number, ok := strings.CutPrefix(e.Name(), unlockedPrefix); ok {
		return digits(number) && len(inside) == 0
	}
	number, ok := strings.CutPrefix(e.Name(), prefix)
	if !ok || !digits(number) {
		return false
	}
	for _, below := range inside {
		if name := below.Name(); name != profileName && name != uploadsName && name != outputName {
			return false
		}
	}
	return true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func removeAbandoned(ctx context.Context, path string) (removed bool, err error) {
	lock, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // another start was faster
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false, nil // its sidecar lives
	}
	return true, removeAll(ctx, path)
}
