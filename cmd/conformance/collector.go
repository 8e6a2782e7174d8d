package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// collector turns the events of shards that run side by side into one report.
type collector struct {
	plan     *plan
	proved   map[string][]string
	console  *report.Console
	evidence *report.Evidence

	mu       sync.Mutex // guards what follows while shards run
	run      *report.Run
	specs    map[string][]report.SpecResult
	captured map[string][]string // evidence paths by spec
}

func newCollector(p *plan, proved map[string][]string, r *report.Run, c *report.Console, e *report.Evidence) *collector {
	return &collector{
		plan: p, proved: proved, run: r, console: c, evidence: e,
		specs: make(map[string][]report.SpecResult), captured: make(map[string][]string),
	}
}

// judge runs each hand of clauses in a lab of its own. What goes wrong with a lab is noted in the report.
func (c *collector) judge(ctx context.Context, o runOptions, hands [][]string) {
	c.console.Begin(c.run, c.plan.runnable, len(c.plan.contract.Clauses))
	if len(c.plan.runnable) == 0 {
		return
	}
	errs := make([]error, len(hands))
	var labs sync.WaitGroup
	for i, clauses := range hands {
		labs.Go(func() { errs[i] = (&hand{collector: c, clauses: clauses}).play(ctx, o) })
	}
	labs.Wait()
	if ctx.Err() != nil {
		// Whatever the labs said while they were being put away follows from that.
		c.run.HarnessError = ""
		errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, context.Canceled) })
		errs = slices.Insert(errs, 0, errors.New("the run was interrupted"))
	}
	if err := errors.Join(errs...); err != nil {
		c.broken(err)
	}
}

// broken notes what makes the whole run worthless; the first reason counts. The caller holds the lock.
func (c *collector) broken(err error) {
	if c.run.HarnessError == "" {
		c.run.HarnessError = err.Error()
	}
}

// hand is what one lab has to prove.
type hand struct {
	*collector
	clauses  []string
	finished bool
}

// play runs the hand's clauses in a lab and returns what went wrong with the lab.
func (h *hand) play(ctx context.Context, o runOptions) error {
	order, err := o.order(h.clauses)
	if err != nil {
		return err
	}
	shard, err := o.launch(ctx)
	if err != nil {
		return err
	}
	code, err := shard.Run(ctx, order, h.event)
	switch {
	case err != nil:
		return err
	case !h.finished:
		return fmt.Errorf("the lab ended early, with exit code %d", code)
	case code != 0:
		return fmt.Errorf("the lab ended with exit code %d after its last spec", code)
	}
	return nil
}

func (h *hand) event(method string, params json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.take(method, params); err != nil {
		h.broken(fmt.Errorf("reading the lab's event %s: %w", method, err))
	}
}

func (h *hand) take(method string, params json.RawMessage) error {
	switch method {
	case engine.EventPlanned:
		e, err := engine.Decode[engine.Planned](params)
		h.run.Target.Version = e.TargetVersion
		if want := h.expected(); err == nil && e.Specs != want {
			// The lab's image holds a suite of its own, which may be an older one.
			err = fmt.Errorf("the lab's suite has %d specs for these clauses and this program's has %d: build the lab's image again", e.Specs, want)
		}
		return err
	case engine.EventBegan:
		e, err := engine.Decode[engine.Began](params)
		h.console.Start(e.Clause)
		return err
	case engine.EventEvidence:
		e, err := engine.Decode[engine.Evidence](params)
		if err != nil {
			return err
		}
		path, err := h.evidence.Save(e.Clause, e.Name, e.Data)
		h.captured[e.Spec] = append(h.captured[e.Spec], path)
		return err
	case engine.EventEnded:
		e, err := engine.Decode[engine.Ended](params)
		if err != nil {
			return err
		}
		return h.ended(e)
	case engine.EventNeverReady:
		e, err := engine.Decode[engine.Reason](params)
		h.run.TargetNeverReady = e.Reason
		return err
	case engine.EventBroken:
		e, err := engine.Decode[engine.Reason](params)
		h.broken(errors.New(e.Reason))
		return err
	case engine.EventFinished:
		h.finished = true
		return nil
	}
	return errors.New("there is no such event")
}

// expected is how many specs should run.
func (h *hand) expected() int {
	n := 0
	for _, id := range h.clauses {
		n += len(h.proved[id])
	}
	return n
}

// ended adds a spec's result, and shows its clause's once that is complete. The caller holds the lock.
func (c *collector) ended(e engine.Ended) error {
	outcome, err := report.ParseOutcome(e.Outcome)
	if err != nil {
		return err
	}
	result := report.SpecResult{
		Name: e.Spec, Outcome: outcome, Reason: e.Reason, Duration: report.Duration(e.Duration), Evidence: c.captured[e.Spec],
	}
	if f := e.Failure; f != nil {
		result.Failure = &report.Failure{Did: f.Did, Want: f.Want, Got: f.Got, Location: f.Location}
		if f.Got == "" {
			result.Failure.Message = f.Message
		}
		if outcome == report.HarnessError {
			result.Reason = f.Message
		}
	}
	c.specs[e.Clause] = append(c.specs[e.Clause], result)
	c.console.Rest(e.Clause)
	if len(c.specs[e.Clause]) == len(c.proved[e.Clause]) {
		clause, _ := c.plan.contract.Clause(e.Clause)
		c.console.Done(report.Combine(reportClause(clause), c.specs[e.Clause]))
	}
	return nil
}

// finish completes the report: every clause of the contract with its outcome and reason.
func (c *collector) finish(at time.Time) error {
	for _, clause := range c.plan.contract.Clauses {
		c.run.Clauses = append(c.run.Clauses, c.result(reportClause(clause)))
	}
	c.run.Evidence = c.evidence.Files()
	return c.run.Finish(at)
}

func (c *collector) result(clause report.Clause) report.ClauseResult {
	if settled, ok := c.plan.settled[clause.ID]; ok {
		return settled
	}
	specs := c.specs[clause.ID]
	switch missing := len(c.proved[clause.ID]) - len(specs); {
	case missing == 0:
		return report.Combine(clause, specs)
	case c.run.TargetNeverReady != "":
		return report.NotRun(clause, report.CouldNotRun, "the target never became ready")
	default:
		reason := "the run ended before all its specs had run"
		if c.run.HarnessError != "" {
			reason += ": " + firstLine(c.run.HarnessError)
		}
		return report.Combine(clause, append(specs, report.SpecResult{Name: "the rest of its specs", Outcome: report.HarnessError, Reason: reason}))
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// write lays the reports down in the directory and returns their paths.
func (c *collector) write(dir string) ([]string, error) {
	var paths []string
	for _, file := range []struct {
		name  string
		write func(io.Writer, *report.Run) error
	}{{"report.json", report.WriteJSON}, {"junit.xml", report.WriteJUnit}} {
		path := filepath.Join(dir, file.name)
		f, err := os.Create(path)
		if err != nil {
			return nil, fmt.Errorf("writing a report: %w", err)
		}
		if err := errors.Join(file.write(f, c.run), f.Close()); err != nil {
			return nil, fmt.Errorf("writing %s: %w", path, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// newReport starts the report of a run with everything that is known before it.
func newReport(o runOptions, p *plan) *report.Run {
	r := &report.Run{
		Suite:    report.Suite{Name: "conformance", Version: version},
		Contract: report.Contract{Name: p.contract.Name, Version: strconv.Itoa(p.contract.Version)},
		Target:   report.Target{Kind: report.TargetKind(o.target), Identity: o.identity()},
		Started:  time.Now(),
		Seed:     o.seed,
		Options:  o.effective,
		Profiles: p.profiles,
		Scope:    report.Scope{Selection: o.selection(), Long: o.long},
	}
	return r
}

// identity is what was judged, without the paths of the machine that it was judged on.
func (o *runOptions) identity() string {
	if o.target == "image" {
		return o.image
	}
	return strings.Join(append([]string{filepath.Base(o.argv[0])}, o.argv[1:]...), " ")
}

// selection is the filter as it was given.
func (o *runOptions) selection() []string {
	selection := []string{}
	for _, s := range []struct {
		flag   string
		values []string
	}{{"profile", o.filter.Profiles}, {"section", o.filter.Sections}, {"clause", o.filter.Clauses}} {
		for _, v := range s.values {
			selection = append(selection, s.flag+"="+v)
		}
	}
	return selection
}
