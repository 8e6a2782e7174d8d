package sidecar

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestPlacesArePrivateAndGo(t *testing.T) {
	workdir := t.TempDir()
	p, err := makePlaces(t.Context(), workdir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{p.root, p.profile, p.uploads, p.output} {
		info, err := os.Stat(dir)
		if err != nil || info.Mode() != os.ModeDir|0o700 || !strings.HasPrefix(dir, workdir) {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.output, "x"), []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := p.remove(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := names(t, workdir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestOnlyAKilledSidecarsDirectoryIsSwept(t *testing.T) {
	workdir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	living, err := makePlaces(t.Context(), workdir, log)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := makePlaces(t.Context(), workdir, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as its death does
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "kept")
	for _, dir := range []string{filepath.Join(workdir, "someone's"), outside} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(workdir, prefix+"link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workdir, prefix+"file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := makePlaces(t.Context(), workdir, log)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{filepath.Base(living.root): true, filepath.Base(next.root): true, "someone's": true, prefix + "link": true, prefix + "file": true}
	for _, name := range names(t, workdir) {
		if !want[name] {
			t.Errorf("%s was left", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s was removed", name)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	for _, p := range []*places{living, next} {
		if err := p.remove(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestOtherPeoplesDirectoriesAreNotSwept(t *testing.T) {
	workdir := t.TempDir()
	var want []string
	keep := func(name string, mode os.FileMode, inside string) {
		want = append(want, name)
		if err := os.Mkdir(filepath.Join(workdir, name), mode); err != nil {
			t.Fatal(err)
		}
		if inside != "" {
			if err := os.WriteFile(filepath.Join(workdir, name, inside), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep(prefix+"conformance", 0o700, "README.md") // a checkout of ours
	keep(prefix+"123-notes", 0o700, "")
	keep(prefix, 0o700, "")
	keep(prefix+"124", 0o700, "note")
	keep(prefix+"125", 0o755, "")
	keep(unlockedPrefix+"126", 0o700, "profile")
	// What starts that were killed leave: one before it took the lock, one in the midst of its directories.
	for _, dir := range []string{unlockedPrefix + "127", prefix + "128/profile/Default"} {
		if err := os.MkdirAll(filepath.Join(workdir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p, err := makePlaces(t.Context(), workdir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := names(t, workdir)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("left: %q, want %q", got, want)
	}
}

func TestWhatAKilledRunWritesLateIsRemovedAtTheEnd(t *testing.T) {
	workdir := t.TempDir()
	p, err := makePlaces(t.Context(), workdir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(workdir, prefix+"1/profile/Default"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := names(t, workdir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestStartsInOneWorkdirAtOnce(t *testing.T) {
	workdir := t.TempDir()
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 20 {
				p, err := makePlaces(t.Context(), workdir, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(p.output); err != nil {
					t.Errorf("another start removed it: %v", err)
				}
				if err := p.remove(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if left := names(t, workdir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestWorkdirMustBeThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "/sub", filepath.Join(t.TempDir(), "missing")} {
		if _, err := makePlaces(t.Context(), dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "workdir must be") {
			t.Errorf("%s: got %v", dir, err)
		}
	}
}
