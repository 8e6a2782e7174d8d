package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dirPattern names the labs' directories. The path is short whatever TMPDIR says: Chromium puts a socket below it, whose
// path may have 107 bytes.
const dirPattern = "conformance-lab-*"

// directory is where a lab mounts its file system. On the host it stays empty, and is locked as long as its runner lives:
// the kernel drops the lock of a runner that was killed, and the next one takes the directory away.
type directory struct {
	path string
	lock *os.File
}

// newDirectory makes a lab's directory below parent, after removing those of runners that are gone.
func newDirectory(parent string) (*directory, error) {
	if err := removeStaleDirectories(parent); err != nil {
		return nil, fmt.Errorf("removing what an earlier run left: %w", err)
	}
	// Another runner that looks for stale ones may come between the making and the locking: then the directory is its.
	const tries = 10
	for range tries {
		path, err := os.MkdirTemp(parent, dirPattern)
		if err != nil {
			return nil, fmt.Errorf("making the lab's directory: %w", err)
		}
		lock, err := lockDirectory(path)
		if err != nil {
			continue
		}
		if holds(lock, path) {
			return &directory{path, lock}, nil
		}
		_ = lock.Close()
	}
	return nil, fmt.Errorf("making the lab's directory below %s: it could not be locked in %d tries", parent, tries)
}

// holds tells whether the locked directory still stands at path.
func holds(lock *os.File, path string) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, there)
}

func (d *directory) remove() error { return errors.Join(os.Remove(d.path), d.lock.Close()) }

// removeStaleDirectories leaves alone what is locked, what isn't empty and what belongs to somebody else.
func removeStaleDirectories(parent string) error {
	paths, err := filepath.Glob(filepath.Join(parent, dirPattern))
	if err != nil {
		return err
	}
	for _, path := range paths {
		lock, err := lockDirectory(path)
		if err != nil {
			continue
		}
		// Another runner may have been as quick.
		err = os.Remove(path)
		_ = lock.Close()
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// lockDirectory fails at once where another process holds the lock.
func lockDirectory(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
