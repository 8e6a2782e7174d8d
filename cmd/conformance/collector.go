package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// collector turns a shard's events into a report.
type collector struct {
	plan     *plan
	proved   map[string][]string
	run      *report.Run
	console  *report.Console
	evidence *report.Evidence

	specs    map[string][]report.SpecResult
	captured map[string][]string // evidence paths by spec
	finished bool
}

func newCollector(p *plan, proved map[string][]string, r *report.Run, c *report.Console, e *report.Evidence) *collector {
	return &collector{
		plan: p, proved: proved, run: r, console: c, evidence: e,
		specs: make(map[string][]report.SpecResult), captured: make(map[string][]string),
	}
}

// judge runs what is runnable in a lab. What goes wrong with the lab is noted in the report.
func (c *collector) judge(ctx context.Context, o runOptions) {
	c.console.Begin(c.run, c.plan.runnable, len(c.plan.contract.Clauses))
	if len(c.plan.runnable) == 0 {
		return
	}
	order, err := o.order(c.plan)
	if err != nil {
		c.broken(err)
		return
	}
	code := 0
	shard, err := o.launch(ctx)
	if err == nil {
		code, err = shard.Run(ctx, order, c.event)
	}
	switch {
	case ctx.Err() != nil:
		// Whatever the lab said while it was being put away follows from that.
		c.run.HarnessError = errors.Join(errors.New("the run was interrupted"), notCanceled(err)).Error()
	case err != nil:
		c.broken(err)
	case !c.finished:
		c.broken(fmt.Errorf("the lab ended early, with exit code %d", code))
	case code != 0:
		c.broken(fmt.Errorf("the lab ended with exit code %d after its last spec", code))
	}
}

// notCanceled leaves out an error that only says that the run was interrupted.
func notCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// broken notes what makes the whole run worthless; the first reason counts.
func (c *collector) broken(err error) {
	if c.run.HarnessError == "" {
		c.run.HarnessError = err.Error()
	}
}

func (c *collector) event(method string, params json.RawMessage) {
	if err := c.take(method, params); err != nil {
		c.broken(fmt.Errorf("reading the lab's event %s: %w", method, err))
	}
}

func (c *collector) take(method string, params json.RawMessage) error {
	switch method {
	case engine.EventPlanned:
		e, err := engine.Decode[engine.Planned](params)
		c.run.Target.Version = e.TargetVersion
		if want := c.expected(); err == nil && e.Specs != want {
			// The lab's image holds a suite of its own, which may be an older one.
			err = fmt.Errorf("the lab's suite has %d specs for these clauses and this program's has %d: build the lab's image again", e.Specs, want)
		}
		return err
	case engine.EventBegan:
		e, err := engine.Decode[engine.Began](params)
		c.console.Start(e.Clause)
		return err
	case engine.EventEvidence:
		e, err := engine.Decode[engine.Evidence](params)
		if err != nil {
			return err
		}
		path, err := c.evidence.Save(e.Clause, e.Name, e.Data)
		c.captured[e.Spec] = append(c.captured[e.Spec], path)
		return err
	case engine.EventEnded:
		e, err := engine.Decode[engine.Ended](params)
		if err != nil {
			return err
		}
		return c.ended(e)
	case engine.EventNeverReady:
		e, err := engine.Decode[engine.Reason](params)
		c.run.TargetNeverReady = e.Reason
		return err
	case engine.EventBroken:
		e, err := engine.Decode[engine.Reason](params)
		c.broken(errors.New(e.Reason))
		return err
	case engine.EventFinished:
		c.finished = true
		return nil
	}
	return errors.New("there is no such event")
}

// expected is how many specs should run.
func (c *collector) expected() int {
	n := 0
	for _, id := range c.plan.runnable {
		n += len(c.proved[id])
	}
	return n
}

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
