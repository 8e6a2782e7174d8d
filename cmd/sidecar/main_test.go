package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

const token = "tok-0123456789-0123456789-0123456789"

// asCommand makes the test binary run as the command, so that signals and exit codes are a real process's.
const asCommand = "SIDECAR_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// command is a run of the command that has not ended yet, or has.
type command struct {
	*exec.Cmd
	t      *testing.T
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *command {
	t.Helper()
	c := &command{t: t, Cmd: exec.Command(os.Args[0], args...)}
	c.Env = append(os.Environ(), asCommand+"=1")
	c.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdout = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// give writes the configuration and ends it.
func (c *command) give(text string) *command {
	_, _ = io.WriteString(c.stdin, text)
	_ = c.stdin.Close()
	return c
}

// ends waits for the end and returns the exit code, -1 for a signal, with what is left of stdout.
func (c *command) ends() (code int, stdout string) {
	c.t.Helper()
	timer := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	rest, _ := io.ReadAll(c.stdout)
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(rest)
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"bogus"}, {"serve", "extra"}, {"--bogus"}, {"serve", "--bogus"}, {"serve", "-x"}, {"check", "x"}, {"check", "--bogus"}, {"serve", "--config-file"}} {
		c := start(t, args...).give("")
		code, stdout := c.ends()
		if code != exitUsage || stdout != "" || !strings.Contains(c.stderr.String(), "Usage:") || !strings.Contains(c.stderr.String(), " serve") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, c.stderr.String())
		}
	}
}

func TestVersionAndCheckAgree(t *testing.T) {
	_, byFlag := start(t, "--version").give("").ends()
	_, byCommand := start(t, "version").give("").ends()
	if byFlag != buildVersion()+"\n" || byCommand != byFlag {
		t.Errorf("got %q and %q, want %q", byFlag, byCommand, buildVersion())
	}
	code, text := start(t, "check").give("").ends()
	var report struct {
		Version, Go string
		Chromium    struct {
			Installed  *bool
			Executable *string
		}
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil || code != 0 {
		t.Fatalf("%d %s: %v", code, text, err)
	}
	if report.Version != buildVersion() || report.Chromium.Installed == nil || !strings.HasPrefix(report.Go, "go") {
		t.Errorf("got %s", text)
	}
	t.Setenv(browser.ExecutableVariable, "/nowhere/chromium")
	if _, text := start(t, "check").give("").ends(); !strings.Contains(text, `"installed": false`) {
		t.Errorf("got %s", text)
	}
}

func TestInvalidConfigurationsAreOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(file, []byte(`{"token": "`+token+`", "app_url": "http://u:`+token+`@a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		text string
		want string
	}{
		{nil, "", "invalid configuration: the configuration is not JSON: it is empty"},
		{[]string{"serve"}, `{"token": "` + token + ` x"}`, "invalid configuration: app_url must be an absolute http(s) URL"},
		{nil, `{"app_url": "http://a", "token": "` + token + ` x"}`, "invalid configuration: token must be a string of at least 32 characters without whitespace"},
		{[]string{"--config-file", file}, "", "invalid configuration: app_url must not carry credentials"},
		{[]string{"serve", "--config-file", file + ".not"}, "", "reading the configuration: open " + file + ".not: no such file or directory"},
		{nil, `{"app_url": "http://a", "token": "` + token + `", "workdir": "` + file + `"}`, "workdir must be an existing directory, and it is a file"},
	} {
		c := start(t, tc.args...).give(tc.text)
		code, stdout := c.ends()
		if want := linePrefix + tc.want + "\n"; code != exitFault || stdout != "" || c.stderr.String() != want {
			t.Errorf("%.60s: exit code %d, stdout %q, stderr %q, want %q", tc.text, code, stdout, c.stderr.String(), want)
		}
	}
}

func TestASignalEndsTheWaitForAConfiguration(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		c := start(t)
		caught(c, sig)
		_ = c.Process.Signal(sig)
		if code, stdout := c.ends(); code != exitDone || stdout != "" || !strings.Contains(c.stderr.String(), "stopping: received SIG") {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", sig, code, stdout, c.stderr.String())
		}
	}
}

// caught waits until the process handles a signal, as its status in /proc tells: before that, a test would kill it.
func caught(c *command, sig syscall.Signal) {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
		_, rest, _ := strings.Cut(string(status), "SigCgt:\t")
		line, _, _ := strings.Cut(rest, "\n")
		// Go catches them all from its first moment; only when ours are asked for is the configuration being read.
		if mask, err := strconv.ParseUint(line, 16, 64); err == nil && mask&(1<<(sig-1)) != 0 && reading(c.Process.Pid) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	c.t.Fatal("the command handles no signals")
}

// reading reports that some thread of the process waits in a system call that reads its standard input.
func reading(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, task := range tasks {
		if text, err := os.ReadFile(task); err == nil && strings.HasPrefix(string(text), "0 0x0 ") {
			return true
		}
	}
	return false
}

func needChromium(t *testing.T) {
	t.Helper()
	if _, ok := browser.Find(); ok {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("Chromium is missing")
	}
	t.Skip("Chromium is missing")
}

// serving starts the command with workdir and waits for its ready line.
func serving(t *testing.T, workdir string) *command {
	t.Helper()
	// Nothing listens on the app's port: a page that can't be opened ends nothing.
	c := start(t, "serve").give(fmt.Sprintf(`{"token": %q, "app_url": "http://127.0.0.1:9", "workdir": %q, "chromium_sandbox": %v}`,
		token, workdir, os.Getuid() != 0))
	line, err := c.stdout.ReadString('\n')
	var ready struct {
		Ready   bool
		Port    int
		Version string
		PID     int
	}
	if json.Unmarshal([]byte(line), &ready) != nil || !ready.Ready || ready.Port == 0 || ready.Version != buildVersion() || ready.PID != c.Process.Pid {
		t.Fatalf("the ready line is %q, %v; stderr: %s", line, err, c.stderr.String())
	}
	return c
}

// nothingLeft checks workdir, and waits for the processes that name it to be gone.
func nothingLeft(t *testing.T, workdir string) {
	t.Helper()
	if entries, err := os.ReadDir(workdir); err != nil || len(entries) > 0 {
		t.Errorf("left in workdir: %v, %v", entries, err)
	}
	noProcess(t, workdir)
}

func noProcess(t *testing.T, workdir string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; <-time.After(20 * time.Millisecond) {
		var left []string
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range lines {
			if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(workdir)) {
				left = append(left, path)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %q", left)
		}
	}
}

func TestSignalsStopIt(t *testing.T) {
	needChromium(t)
	for _, signals := range [][]syscall.Signal{
		{syscall.SIGTERM},
		{syscall.SIGINT},
		{syscall.SIGHUP},
		{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM},
	} {
		t.Run(fmt.Sprint(signals), func(t *testing.T) {
			workdir := t.TempDir()
			c := serving(t, workdir)
			for _, sig := range signals {
				_ = c.Process.Signal(sig)
			}
			code, stdout := c.ends()
			if code != exitDone || stdout != "" {
				t.Errorf("exit code %d, more on stdout: %q; stderr: %s", code, stdout, c.stderr.String())
			}
			for line := range strings.Lines(c.stderr.String()) {
				if !strings.HasPrefix(line, linePrefix) || strings.Contains(line, token) {
					t.Errorf("a line on stderr: %q", line)
				}
			}
			nothingLeft(t, workdir)
		})
	}
}

func TestAKillLeavesNoProcessAndTheNextStartCleansUp(t *testing.T) {
	needChromium(t)
	workdir := t.TempDir()
	c := serving(t, workdir)
	_ = c.Process.Kill()
	c.ends()
	noProcess(t, workdir)
	c = serving(t, workdir)
	_ = c.Process.Signal(syscall.SIGTERM)
	if code, _ := c.ends(); code != exitDone {
		t.Errorf("exit code %d; stderr: %s", code, c.stderr.String())
	}
	nothingLeft(t, workdir)
}

func TestAKillDuringTheStartLeavesNoProcessAndTheNextStartCleansUp(t *testing.T) {
	needChromium(t)
	workdir := t.TempDir()
	for name, pattern := range map[string]string{
		"a directory": workdir + "/*", "directories": workdir + "/*/output", "a profile": workdir + "/*/profile/*", "a tab": workdir + "/*/profile/Default/*",
	} {
		c := start(t, "serve").give(fmt.Sprintf(`{"token": %q, "app_url": "http://127.0.0.1:9", "workdir": %q, "chromium_sandbox": %v}`,
			token, workdir, os.Getuid() != 0))
		// Without a pause: the moments are short.
		for deadline := time.Now().Add(20 * time.Second); ; {
			if found, _ := filepath.Glob(pattern); len(found) > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("there never was %s: %s", name, c.stderr.String())
			}
		}
		_ = c.Process.Kill()
		c.ends()
		noProcess(t, workdir)
	}
	c := serving(t, workdir)
	_ = c.Process.Signal(syscall.SIGTERM)
	if code, _ := c.ends(); code != exitDone {
		t.Errorf("exit code %d; stderr: %s", code, c.stderr.String())
	}
	nothingLeft(t, workdir)
}

func TestAClosedOutputLeavesNothing(t *testing.T) {
	needChromium(t)
	workdir := t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	c := exec.Command(os.Args[0], "serve")
	c.Env = append(os.Environ(), asCommand+"=1")
	c.Stdout, c.Stderr = write, write
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"token": %q, "app_url": "http://127.0.0.1:9", "workdir": %q, "chromium_sandbox": %v}`,
		token, workdir, os.Getuid() != 0))
	err = c.Run()
	_ = write.Close()
	if c.ProcessState.ExitCode() != exitFault {
		t.Errorf("got %v", err)
	}
	nothingLeft(t, workdir)
}

func TestLogLines(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(&out)
	log.Info("plain")
	log.With("a", 1).WithGroup("g").Warn("with\nbreak", "b", "x\ny", "msg", "kept")
	log.Debug("not shown")
	log.Error("failed", slog.Any("cause", errors.New("two words")))
	want := "browser-sidecar: plain\n" +
		"browser-sidecar: with break a=1 g.b=\"x\\ny\" g.msg=kept\n" +
		"browser-sidecar: failed cause=\"two words\"\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
