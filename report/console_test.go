package report_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/report"
)

// clock is a hand-driven one.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestConsole(t *testing.T) {
	var out bytes.Buffer
	console := report.NewConsole(&out, report.ConsoleOptions{Root: "out", Ticks: make(chan time.Time)})
	run := sample(t)
	run.Finished = started.Add(90 * time.Second)
	var planned []string
	for _, c := range run.Clauses {
		if c.Omitted == "" && c.Outcome != report.NotApplicable {
			planned = append(planned, c.ID)
		}
	}
	console.Begin(run, planned, len(run.Clauses))
	for _, c := range run.Clauses[:7] {
		console.Start(c.ID)
		console.Done(c)
	}
	if err := console.Finish(run, "out/report.json", "out/junit.xml"); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/console.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestConsoleMentionsSlowClauses(t *testing.T) {
	var out bytes.Buffer
	clock, ticks := &clock{now: started}, make(chan time.Time)
	console := report.NewConsole(&out, report.ConsoleOptions{Now: clock.Now, Ticks: ticks, SlowAfter: 4 * time.Second})
	// The second send is taken only when the first was handled.
	tick := func() { ticks <- clock.Now(); ticks <- clock.Now() }

	console.Begin(unfinished(), []string{"a.b", "a.c"}, 2)
	console.Start("a.b")
	clock.advance(3 * time.Second)
	console.Start("a.c")
	tick() // nothing is slow yet
	clock.advance(2 * time.Second)
	tick() // a.b took 5 s
	clock.advance(2 * time.Second)
	tick() // a.b 7 s, mentioned again from 8 s; a.c 4 s
	clock.advance(1 * time.Second)
	tick() // a.b 8 s
	console.Done(ran("a.b", report.Must, report.Pass))
	clock.advance(time.Hour)
	tick() // a.c only, once
	console.Rest("a.c")
	clock.advance(24 * time.Hour)
	tick() // nothing runs
	console.Close()
	console.Close()

	var got []string
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.Contains(line, "running") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		"still running: a.b (5s)", "still running: a.c (4s)", "still running: a.b (8s)", "still running: a.c (3605s)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestConsoleColour(t *testing.T) {
	for _, color := range []bool{true, false} {
		var out bytes.Buffer
		console := report.NewConsole(&out, report.ConsoleOptions{Color: color})
		hostile := ran("a.b", report.Must, report.Fail)
		hostile.Specs[0].Failure.Got = "\x1b[2J\x1b]0;title\a gone"
		console.Done(hostile)
		console.Close()
		if got := strings.Contains(out.String(), "\x1b[31mFAIL\x1b[0m"); got != color {
			t.Errorf("colour %t: painted %t", color, got)
		}
		if strings.Contains(out.String(), "\x1b[2J") || !strings.Contains(out.String(), `\u001b[2J`) {
			t.Errorf("the target's escapes reached the terminal: %q", out.String())
		}
	}
}

func TestUseColor(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	device, err := os.Open(os.DevNull) // a character device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, row := range []struct {
		name string
		file *os.File
		env  func(string) string
		want bool
	}{
		{"a device", device, env(), true},
		{"a file", file, env(), false},
		{"NO_COLOR", device, env("NO_COLOR", "1"), false},
		{"a dumb terminal", device, env("TERM", "dumb"), false},
	} {
		if got := report.UseColor(row.file, row.env); got != row.want {
			t.Errorf("%s: %t, want %t", row.name, got, row.want)
		}
	}
}

func TestConsoleReportsItsWriteError(t *testing.T) {
	console := report.NewConsole(brokenWriter{}, report.ConsoleOptions{})
	console.Done(ran("a.b", report.Must, report.Pass))
	if err := console.Finish(sample(t)); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
}

func TestConsoleIsSafeForShardsSideBySide(t *testing.T) {
	var out bytes.Buffer
	console := report.NewConsole(&out, report.ConsoleOptions{})
	var shards sync.WaitGroup
	for _, id := range []string{"a.a", "a.b", "a.c", "a.d"} {
		shards.Go(func() {
			console.Start(id)
			console.Done(ran(id, report.Must, report.Fail))
		})
	}
	shards.Wait()
	console.Close()
	if got := strings.Count(out.String(), "the sentence of"); got != 4 {
		t.Errorf("%d stories, want 4", got)
	}
}
