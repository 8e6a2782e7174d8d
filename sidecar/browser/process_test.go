package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

func TestDoneWhenChromiumIsKilled(t *testing.T) {
	b := start(t, nil)
	if err := syscall.Kill(b.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("nobody noticed")
	}
	noGroup(t, b.Pid())
	if _, err := b.NewPage(t.Context()); err == nil {
		t.Error("a tab opened in a browser that is gone")
	}
	if n := len(b.Pages()); n != 0 {
		t.Errorf("%d tabs are left", n)
	}
}

func TestCommandLineAndEnvironment(t *testing.T) {
	t.Setenv("SIDECAR_SECRET", "planted-secret")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	b := start(t, func(o *browser.Options) { o.Proxy = "127.0.0.1:9" })
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", b.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.ReplaceAll(string(args), "\x00", " ")
	for _, want := range []string{
		"--remote-debugging-pipe", "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic", "--headless=new",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%s is missing in %s", want, line)
		}
	}
	for _, never := range []string{"--remote-debugging-port", "disable-site-isolation", "IsolateOrigins", "site-per-process,"} {
		if strings.Contains(line, never) {
			t.Errorf("%s is in %s", never, line)
		}
	}
	if strings.Contains(line, "--no-sandbox") != (os.Geteuid() == 0) {
		t.Errorf("the sandbox is not as asked: %s", line)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", b.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(environ, []byte("planted-secret")) || bytes.Contains(environ, []byte("PROXY")) {
		t.Errorf("Chromium's environment: %q", environ)
	}
	if !bytes.Contains(environ, []byte("HOME=")) {
		t.Error("HOME is missing")
	}
}

func TestNothingListens(t *testing.T) {
	b := start(t, nil)
	inodes := map[string]bool{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		text, _ := os.ReadFile(name)
		_, rest, _ := bytes.Cut(text, []byte(") "))
		fields := strings.Fields(string(rest))
		if len(fields) < 3 || fields[2] != strconv.Itoa(b.Pid()) {
			continue
		}
		links, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "fd", "*"))
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, "socket:[") {
				inodes[strings.Trim(target, "socket:[]")] = true
			}
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && inodes[fields[9]] {
				t.Errorf("Chromium listens: %s", line)
			}
		}
	}
}

func TestSandboxThatCannotBeIsAnError(t *testing.T) {
	needChromium(t)
	if os.Geteuid() != 0 {
		t.Log("not root: the sandbox itself is started by every other test")
		return
	}
	began := time.Now()
	_, err := browser.Start(t.Context(), browser.Options{Profile: t.TempDir(), Sandbox: true})
	if err == nil || !strings.Contains(err.Error(), "sandbox") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestStartErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change browser.Options
		want   string
	}{
		"no such file": {browser.Options{Executable: "/nonexistent/chromium"}, "starting /nonexistent/chromium"},
		"ends at once": {browser.Options{Executable: "/bin/false"}, "it ended at once (exit status 1)"},
		"says nothing": {browser.Options{Executable: "/bin/true"}, "it ended at once (exit status 0)"},
		"no display":   {browser.Options{Executable: "/bin/true", Headed: true}, "headed mode needs a display"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DISPLAY", "")
			t.Setenv("WAYLAND_DISPLAY", "")
			c.change.Profile = t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := browser.Start(ctx, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	script := filepath.Join(t.TempDir(), "hangs")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := browser.Start(ctx, browser.Options{Executable: script, Profile: t.TempDir()}); err == nil {
		t.Fatal("it started")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestChromiumDiesWithItsParent runs this test binary again as a parent that is killed without a chance to clean up.
func TestChromiumDiesWithItsParent(t *testing.T) {
	needChromium(t)
	profile := t.TempDir()
	if os.Getenv("BE_A_PARENT") != "" {
		b, err := browser.Start(t.Context(), browser.Options{Profile: os.Getenv("BE_A_PARENT"), Sandbox: os.Geteuid() != 0})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stderr, "chromium", b.Pid())
		<-b.Done()
		return
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChromiumDiesWithItsParent$")
	// It is killed before it can put its temporary directories away: they are below this test's own.
	parent.Env = append(os.Environ(), "BE_A_PARENT="+profile, "TMPDIR="+profile)
	out, err := parent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(out, "chromium %d\n", &pid); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed, and says so
	noGroup(t, pid)
}

// TestACrashLeavesNoDump has Chromium crash: its dump, which holds pages' memory, must be where the profile is.
func TestACrashLeavesNoDump(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	b := start(t, nil)
	if err := syscall.Kill(b.Pid(), syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody noticed")
	}
	err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".dmp") || strings.Contains(path, "Crash Reports") {
			t.Errorf("left in the home directory: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCloseTwiceAndTheLastTab(t *testing.T) {
	b := start(t, nil)
	if err := b.Pages()[0].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := b.NewPage(t.Context())
	if err != nil {
		t.Fatalf("after the last tab closed: %v", err)
	}
	s := site(t, map[string]string{"/": "again"})
	open(t, p, s.URL+"/")
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestDownloadsAreNamedByUs(t *testing.T) {
	folder := t.TempDir()
	b := start(t, func(o *browser.Options) { o.Downloads = folder })
	s := site(t, map[string]string{"/": `<a id=a download="../../evil.sh" href="/file">x</a>`, "/file": "content"})
	p := b.Pages()[0]
	open(t, p, s.URL+"/")
	evaluate(t, p, "a.click()")
	eventually(t, "the download is done", func() bool { d := p.Downloads(); return len(d) == 1 && d[0].Done })
	d := p.Downloads()[0]
	if strings.ContainsAny(d.Name, `/\`) {
		t.Errorf("name %q", d.Name)
	}
	text, err := os.ReadFile(filepath.Join(folder, d.ID))
	if err != nil || string(text) != "content" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("%d files", len(entries))
	}
}
