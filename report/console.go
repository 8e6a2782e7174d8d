package report

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// ConsoleOptions shape what a console prints. The zero value is a plain console on the real clock.
type ConsoleOptions struct {
	// Color paints outcomes; see [UseColor].
	Color bool
	// Root stands before evidence paths, so that they can be opened from where the command runs.
	Root string
	// SlowAfter is how long a clause runs before the console says so, and again each time that doubles; 5 s when zero.
	SlowAfter time.Duration
	// Redactor takes the secrets out of every line; nil takes none.
	Redactor *Redactor
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Ticks is when to look for slow clauses; every second when nil.
	Ticks <-chan time.Time
}

// UseColor tells whether output to f should be coloured: only on a terminal, and not when NO_COLOR is set to anything or
// TERM is "dumb".
func UseColor(f *os.File, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Console tells a person how a run goes, line by line: Begin, then Start and Done for each clause (with Rest and Start again
// in between, where the specs of several clauses take turns), then Finish. Its methods
// may be used at once, by shards that run side by side.
type Console struct {
	o     ConsoleOptions
	ticks <-chan time.Time
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex
	w       io.Writer
	err     error // the first write error: nothing is printed after it
	total   int
	done    int
	width   int
	running map[string]*running
}

type running struct {
	since time.Time
	next  time.Duration // when to mention it again
}

// NewConsole starts a console, and with it the goroutine that looks for slow clauses; Finish or Close ends it.
func NewConsole(w io.Writer, o ConsoleOptions) *Console {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SlowAfter <= 0 {
		o.SlowAfter = 5 * time.Second
	}
	c := &Console{
		o: o, w: w, ticks: o.Ticks,
		stop: make(chan struct{}), ended: make(chan struct{}),
		running: make(map[string]*running),
	}
	go c.watch()
	return c
}

// Begin prints what is going to be judged: the planned clauses, of all that the contract has.
func (c *Console) Begin(r *Run, planned []string, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total = len(planned)
	for _, id := range planned {
		c.width = max(c.width, len(id))
	}
	c.printf("%s contract %s, suite %s, seed %d", r.Contract.Name, r.Contract.Version, r.Suite.Version, r.Seed)
	c.printf("target: %s %s", r.Target.Kind, r.Target.Identity)
	c.printf("%d of %s to run", len(planned), counted(all))
	c.printf("")
}

// Start notes that a clause begins; it is printed when it ends, or when it takes long.
func (c *Console) Start(clauseID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[clauseID] = &running{since: c.o.Now(), next: c.o.SlowAfter}
}

// Rest notes that a clause waits for its turn again: some of its specs have run, and others run before the next one.
func (c *Console) Rest(clauseID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, clauseID)
}

// Done prints a clause's result, and for a broken one or an error of the suite the whole story.
func (c *Console) Done(result ClauseResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, result.ID)
	c.done++
	digits := len(fmt.Sprint(c.total))
	before := fmt.Sprintf("[%*d/%d] %-*s  ", digits, c.done, c.total, c.width, result.ID)
	after := " " + result.Duration.String()
	if result.Outcome != Pass && !result.tellsStory() {
		after += "  " + oneLine(result.Reason)
	}
	c.print(c.clean(before) + c.paint(result.Outcome) + c.clean(after))
	if result.tellsStory() {
		for _, line := range result.story(c.o.Root) {
			c.printf("    %s", line)
		}
	}
}

// tellsStory tells whether one line would not be enough.
func (c *ClauseResult) tellsStory() bool { return c.Outcome.broken() || c.Outcome == HarnessError }

// Close ends the console's goroutine and waits for it. It may be called more than once.
func (c *Console) Close() {
	c.once.Do(func() { close(c.stop) })
	<-c.ended
}

// watch mentions clauses that take long, until the console is closed.
func (c *Console) watch() {
	defer close(c.ended)
	ticks := c.ticks
	if ticks == nil {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-c.stop:
			return
		case <-ticks:
			c.mention()
		}
	}
}

func (c *Console) mention() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	var slow []string
	for id, r := range c.running {
		took := now.Sub(r.since)
		if took < r.next {
			continue
		}
		for r.next <= took {
			r.next *= 2
		}
		slow = append(slow, fmt.Sprintf("    still running: %s (%.0fs)", id, took.Seconds()))
	}
	slices.Sort(slow)
	for _, line := range slow {
		c.printf("%s", line)
	}
}

// printf prints one line of text that may come from anywhere. The caller holds the lock.
func (c *Console) printf(format string, args ...any) {
	c.print(c.clean(fmt.Sprintf(format, args...)))
}

// print prints a line that is clean already, or painted. The caller holds the lock.
func (c *Console) print(line string) {
	if c.err == nil {
		_, c.err = fmt.Fprintln(c.w, strings.TrimRight(line, " "))
	}
}

// clean takes secrets and control characters out.
func (c *Console) clean(text string) string { return visible(c.o.Redactor.String(text)) }

// paint writes an outcome in its colour.
func (c *Console) paint(o Outcome) string {
	const green, red, yellow, dim = 32, 31, 33, 2
	if !c.o.Color {
		return string(o)
	}
	code := yellow
	switch o {
	case Pass:
		code = green
	case Fail, Timeout, Flaky, HarnessError:
		code = red
	case NotApplicable:
		code = dim
	case Warn, CouldNotRun:
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, o)
}

// oneLine puts a text of several lines into one.
func oneLine(text string) string {
	return clip(strings.Join(strings.Fields(text), " "), 240)
}
