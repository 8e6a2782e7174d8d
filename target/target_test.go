package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutputWaitsForItsLines(t *testing.T) {
	o := NewOutput()
	got := make(chan string)
	go func() {
		line, err := o.Line(t.Context(), 1)
		if err != nil {
			t.Error(err)
		}
		got <- line
	}()
	for _, piece := range []string{"one\nt", "wo", "\nthree"} {
		if _, err := o.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if line := <-got; line != "two" {
		t.Errorf("got %q", line)
	}
	o.close()
	if _, err := o.Line(t.Context(), 2); !errors.Is(err, errOutputEnded) {
		t.Errorf("a line without its end is no line: got %v", err)
	}
	if tail := o.Tail(2); tail != "two\nthree" {
		t.Errorf("got %q", tail)
	}
}

func TestOutputIsBounded(t *testing.T) {
	o := NewOutput()
	piece := bytes.Repeat([]byte("x"), maxOutput/2+1)
	for range 3 {
		if n, err := o.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("a writer must never be stopped: %d, %v", n, err)
		}
	}
	if len(o.String()) != maxOutput || !o.Dropped() {
		t.Errorf("kept %d bytes, dropped %t", len(o.String()), o.Dropped())
	}
}

// fake is a process that a test ends.
type fake struct{ signals []syscall.Signal }

func (f *fake) signal(_ context.Context, s syscall.Signal) error {
	f.signals = append(f.signals, s)
	return nil
}
func (f *fake) remove(context.Context) error { return nil }

func TestReadyLineTellsOfADeathAtOnce(t *testing.T) {
	p := newProcess(&fake{})
	_, _ = p.Stderr.Write([]byte("no display\n"))
	p.ended(Exit{Code: 3})
	_, err := p.ReadyLine(t.Context(), time.Hour)
	var died *DiedError
	if !errors.As(err, &died) || died.Exit.Code != 3 || !strings.Contains(err.Error(), "no display") {
		t.Errorf("want the exit code and the log, got %v", err)
	}
}

func TestReadyLineGivesUp(t *testing.T) {
	p := newProcess(&fake{})
	if _, err := p.ReadyLine(t.Context(), time.Millisecond); !errors.Is(err, ErrNotReady) {
		t.Errorf("got %v", err)
	}
}

func TestParseStat(t *testing.T) {
	for in, want := range map[string][2]int{
		"12 (sh) S 7 12 12":            {12, 7},
		"12 (a) b) (c) S 7 12":         {12, 7},
		"12 (with\nline) S 1 0":        {12, 1},
		"":                             {},
		"12 sh S 7":                    {},
		"x (sh) S 7":                   {},
		"12 (sh) S":                    {},
		") (":                          {},
		"12 (sh) S seven":              {},
		"99999999999999999999 (a) S 1": {},
	} {
		pid, parent, ok := parseStat([]byte(in))
		if ok != (want[0] != 0) || ok && (pid != want[0] || parent != want[1]) {
			t.Errorf("%q: want %v, got %d %d %t", in, want, pid, parent, ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) S 7 12"))
	f.Add([]byte("(("))
	f.Fuzz(func(_ *testing.T, stat []byte) { parseStat(stat) })
}

func TestDescendantsFindsGrandchildren(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 60 & echo started; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }()
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if below := Descendants(os.Getpid()); len(below) < 2 {
		t.Errorf("want the shell and its child, got %v", below)
	}
	if below := Descendants(cmd.Process.Pid); len(below) != 1 {
		t.Errorf("want the shell's child alone, got %v", below)
	}
}

func TestCommandRunsWithoutPrivileges(t *testing.T) {
	c := &Command{Argv: []string{"/bin/sh", "-c", `id -u; grep CapEff /proc/self/status; cat; echo "$A $#" >&2; exit 7`, "sh"}, Env: []string{"A=base"}}
	p, err := c.Start(t.Context(), Options{Args: []string{"x", "y"}, Stdin: []byte("from stdin\n"), Env: []string{"A=own"}})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil || exit != (Exit{Code: 7}) {
		t.Errorf("got %v, %v", exit, err)
	}
	if got := p.Stdout.String(); !strings.HasPrefix(got, "1000\n") || !strings.Contains(got, "0000000000000000") || !strings.HasSuffix(got, "from stdin\n") {
		t.Errorf("want uid 1000, no capabilities and the input, got %q", got)
	}
	if got := p.Stderr.String(); got != "own 2\n" {
		t.Errorf("got %q", got)
	}
	if err := p.Remove(t.Context()); err != nil {
		t.Errorf("removing a process that has ended: %v", err)
	}
}

func TestCommandIsRemovedWithItsChildren(t *testing.T) {
	c := &Command{Argv: []string{"/bin/sh", "-c", "sleep 60 & echo $!; wait", "sh"}}
	p, err := c.Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	child, err := p.ReadyLine(t.Context(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Signal != syscall.SIGKILL {
		t.Errorf("got %v", exit)
	}
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	for {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("the child still runs: %s", stat)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestCommandThatEndedIsRemovedWithWhatItLeftBehind(t *testing.T) {
	c := &Command{Argv: []string{"/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!", "sh"}}
	p, err := c.Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(p.Stdout.String()))
	if err != nil {
		t.Fatal(err)
	}
	own := nameOf(p.control.(*commandControl).namespace)
	if !slices.Contains(members(own), child) {
		t.Fatal("the child should still run: it has lost its parent, and nobody ended it")
	}
	if err := p.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := members(own); len(left) != 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestNamespacesOfCommandsThatEndedAreNoOtherCommands(t *testing.T) {
	c := &Command{Argv: []string{"/bin/true"}}
	names := make(map[string]bool)
	const commands = 20
	for range commands {
		p, err := c.Start(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		names[nameOf(p.control.(*commandControl).namespace)] = true
		t.Cleanup(func() {
			if err := p.Remove(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	if len(names) != commands || names[""] {
		t.Errorf("want a namespace of its own for each of %d commands, got %v", commands, names)
	}
}

// caller answers a Remote's calls.
type caller struct {
	calls []string
	err   error
}

func (c *caller) Call(_ context.Context, method string, params, _ any) error {
	text, err := json.Marshal(params)
	c.calls = append(c.calls, method+string(text))
	return errors.Join(err, c.err)
}

func TestRemoteTellsOutputAndExit(t *testing.T) {
	c := &caller{}
	r := NewRemote(c)
	p, err := r.Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.calls[0] != `target.start{"number":1,"options":{"args":["serve"]}}` {
		t.Errorf("got %s", c.calls[0])
	}
	for _, e := range []struct {
		method string
		params any
	}{
		{EventOutput, OutputEvent{1, false, []byte("out\n")}},
		{EventOutput, OutputEvent{1, true, []byte("err\n")}},
		{EventOutput, OutputEvent{9, true, []byte("nobody's\n")}},
		{EventExit, ExitEvent{1, Exit{Code: 137, Signal: 9}}},
	} {
		text, err := json.Marshal(e.params)
		if err != nil {
			t.Fatal(err)
		}
		if handled, err := r.Event(e.method, text); !handled || err != nil {
			t.Errorf("%s: %t, %v", e.method, handled, err)
		}
	}
	if p.Stdout.String() != "out\n" || p.Stderr.String() != "err\n" || p.Exit().Code != 137 {
		t.Errorf("got %q, %q, %v", p.Stdout, p.Stderr, p.Exit())
	}
	if handled, _ := r.Event("other", nil); handled {
		t.Error("other events are not a target's")
	}
	if handled, err := r.Event(EventExit, json.RawMessage("[")); !handled || err == nil {
		t.Error("want an error for a broken event")
	}
}

func TestRemoteThatCannotStart(t *testing.T) {
	r := NewRemote(&caller{err: errors.New("no such image")})
	if _, err := r.Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "no such image") {
		t.Errorf("got %v", err)
	}
}
