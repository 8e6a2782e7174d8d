package launch

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestProcessStartNamesOneProcess(t *testing.T) {
	own, err := processStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := processStart(os.Getpid()); again != own || err != nil {
		t.Errorf("want %s again, got %s, %v", own, again, err)
	}
	if n, err := strconv.Atoi(own); err != nil || n <= 0 {
		t.Errorf("want clock ticks since the boot, got %q", own)
	}

	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if start, err := processStart(cmd.Process.Pid); err != nil || start == "" {
		t.Errorf("got %q, %v", start, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its parent hasn't asked for its exit code yet.
	eventually(t, "the end of a zombie's start time", func() bool {
		_, err := processStart(cmd.Process.Pid)
		return err != nil
	})
	_ = cmd.Wait()
	if _, err := processStart(cmd.Process.Pid); err == nil {
		t.Error("a process that is gone has no start time")
	}
}

func TestParseStart(t *testing.T) {
	rest := " 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"
	for in, want := range map[string]string{
		"7 (sh) S" + rest:            "4711",
		"7 (a) Z 1 2) S" + rest:      "4711",
		"7 (with\nline) R" + rest:    "4711",
		"7 (sh) Z" + rest:            "",
		"7 (sh) X" + rest:            "",
		"7 (sh) S 1 7 7 0 -1 419456": "",
		"7 sh":                       "",
		"":                           "",
	} {
		got, err := parseStart(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: want %q, got %q, %v", in, want, got, err)
		}
	}
}

func FuzzParseStart(f *testing.F) {
	f.Add("7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0")
	f.Add(") Z")
	f.Fuzz(func(t *testing.T, stat string) {
		if start, err := parseStart(stat); err == nil && start == "" {
			t.Errorf("%q has an empty start time", stat)
		}
	})
}

// deadRunner are the labels of a runner that has ended.
func deadRunner(t *testing.T) map[string]string {
	t.Helper()
	labels, err := ownLabels()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	labels[labelRunner] = strconv.Itoa(cmd.Process.Pid)
	return labels
}

func TestStale(t *testing.T) {
	own, err := ownLabels()
	if err != nil {
		t.Fatal(err)
	}
	with := func(key, value string) map[string]string {
		changed := maps.Clone(own)
		changed[key] = value
		return changed
	}
	dead := deadRunner(t)
	elsewhere := maps.Clone(dead)
	elsewhere[labelPlace] = "another machine"
	for name, c := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"a living runner":                          {own, false},
		"a runner that ended":                      {dead, true},
		"a runner whose id another process has":    {with(labelStart, "1"), true},
		"a runner that can't be seen from here":    {elsewhere, false},
		"a label that is no process id":            {with(labelRunner, "x"), false},
		"a container without a label of this kind": {nil, false},
	} {
		if got := stale(c.labels, own[labelPlace]); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
	if !strings.Contains(own[labelPlace], "pid:[") {
		t.Errorf("a process id means something in one process namespace only, got %q", own[labelPlace])
	}
}

func TestNewDirectoryRemovesStaleOnes(t *testing.T) {
	parent := t.TempDir()
	made := func(name string) string {
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stale, full, other := made("conformance-lab-1"), made("conformance-lab-2"), made("something-else")
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	living, err := newDirectory(parent)
	if err != nil {
		t.Fatal(err)
	}
	next, err := newDirectory(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{stale: false, full: true, other: true, living.path: true, next.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: want it there: %t, got %v", filepath.Base(path), want, err)
		}
	}
	for _, d := range []*directory{living, next} {
		if err := d.remove(); err != nil {
			t.Error(err)
		}
	}
}
