package browser

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindOrder(t *testing.T) {
	root, playwright := t.TempDir(), t.TempDir()
	place := func(path string, mode os.FileMode) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	variables := map[string]string{}
	want := func(path string, ok bool) {
		t.Helper()
		if got, found := find(root, func(name string) string { return variables[name] }); got != path || found != ok {
			t.Errorf("got %q (%v), want %q (%v)", got, found, path, ok)
		}
	}
	want("", false)
	variables["PLAYWRIGHT_BROWSERS_PATH"] = playwright
	want("", false)
	older := place(filepath.Join(playwright, "chromium-999", "chrome-linux", "chrome"), 0o755)
	want(older, true)
	newer := place(filepath.Join(playwright, "chromium-1200", "chrome-linux", "chrome"), 0o755)
	want(newer, true)
	place(filepath.Join(root, "usr/bin/google-chrome"), 0o644) // not executable
	want(newer, true)
	system := place(filepath.Join(root, "usr/bin/chromium"), 0o755)
	want(system, true)
	debian := place(filepath.Join(root, "usr/lib/chromium/chromium"), 0o755)
	want(debian, true)
	variables[ExecutableVariable] = filepath.Join(root, "nothing")
	want(variables[ExecutableVariable], false)
	variables[ExecutableVariable] = older
	want(older, true)
}

func TestEnvironmentKeepsOnlyWhatIsNamed(t *testing.T) {
	all := []string{"HOME=/h", "TOKEN=x", "https_proxy=y", "LC_ALL=C", "PATH=/bin", "AWS_SECRET=z", "HOMEX=1", "TMPDIR=/t"}
	long := "/" + strings.Repeat("p", maxTemp)
	for profile, want := range map[string][]string{
		"/profile": {"BREAKPAD_DUMP_LOCATION=/profile/Crash Reports", "TMPDIR=/profile", "HOME=/h", "LC_ALL=C", "PATH=/bin"},
		long:       {"BREAKPAD_DUMP_LOCATION=" + long + "/Crash Reports", "HOME=/h", "LC_ALL=C", "PATH=/bin", "TMPDIR=/t"},
	} {
		if got := environment(all, profile); !slices.Equal(got, want) {
			t.Errorf("profile %.10s: got %q, want %q", profile, got, want)
		}
	}
}

func TestTailKeepsTheEndOnOneLine(t *testing.T) {
	tail := tail{limit: 10}
	for _, text := range []string{"first line\n", "mid\n", "end\n"} {
		if _, err := tail.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := tail.String(); got != "e | mid | end" && got != "mid | end" {
		t.Errorf("got %q", got)
	}
}
