package engine

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
)

// Bench is what a run needs of the lab around each spec.
type Bench interface {
	// Begin forgets what earlier specs left in the fakes.
	Begin() error
	// Evidence is what the lab saw during the spec, redacted; a name for each piece.
	Evidence(ctx context.Context) map[string][]byte
	// Finish puts things right after a spec that failed or broke its sidecar.
	Finish(ctx context.Context, failed bool) error
}

// Outcomes that a spec can have here; the report's set is wider.
const (
	pass         = "PASS"
	fail         = "FAIL"
	timeout      = "TIMEOUT"
	couldNotRun  = "COULD_NOT_RUN"
	harnessError = "HARNESS_ERROR"
)

// Run runs the ordered clauses' specs and tells sink of each; what failed is told there. Its error is that of a sink that
// could not be told. Ginkgo allows it once in a process, and prints a report of its own on standard output.
func (s *Suite) Run(order Order, bench Bench, sink Sink) error {
	gomega.RegisterFailHandler(ginkgo.Fail)
	t := &teller{sink: sink}
	ginkgo.ReportBeforeEach(t.began)
	ginkgo.ReportAfterEach(t.ended)
	ginkgo.BeforeEach(func() { Harness(bench.Begin()) })
	ginkgo.JustAfterEach(func(ctx ginkgo.SpecContext) {
		if ginkgo.CurrentSpecReport().Failed() {
			t.evidence(ginkgo.CurrentSpecReport(), bench.Evidence(ctx))
		}
	})
	ginkgo.AfterEach(func(ctx ginkgo.SpecContext) {
		Harness(bench.Finish(ctx, ginkgo.CurrentSpecReport().Failed()))
	})

	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed, suite.RandomizeAllSpecs = order.Seed, true
	suite.FailOnPending, suite.FailOnEmpty = true, true
	suite.LabelFilter = filter(order.Clauses)
	reporter.Succinct, reporter.NoColor, reporter.SilenceSkips = true, true, true
	ginkgo.RunSpecs(ignore{}, s.contract.Name, suite, reporter)
	return t.err
}

// filter is Ginkgo's label query for some clauses.
func filter(clauses []string) string {
	quoted := make([]string, len(clauses))
	for i, c := range clauses {
		quoted[i] = regexp.QuoteMeta(c)
	}
	return "/^" + labelPrefix + "(" + strings.Join(quoted, "|") + ")$/"
}

// ignore is what Ginkgo tells that the run failed, which each spec's event says better.
type ignore struct{}

func (ignore) Fail() {}

// teller turns Ginkgo's reports, which come one at a time, into events.
type teller struct {
	sink Sink
	err  error // the first
}

func (t *teller) notify(method string, params any) {
	if err := t.sink.Notify(method, params); err != nil && t.err == nil {
		t.err = err
	}
}

// clause is the spec's, which New has seen to.
func clause(r ginkgo.SpecReport) string {
	id, _ := clauseOf(r.Labels())
	return id
}

func (t *teller) began(r ginkgo.SpecReport) {
	if r.State.Is(types.SpecStateSkipped) {
		return // not selected
	}
	t.notify(EventBegan, Began{clause(r), r.FullText()})
}

func (t *teller) evidence(r ginkgo.SpecReport, pieces map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(pieces)) {
		t.notify(EventEvidence, Evidence{clause(r), r.FullText(), name, pieces[name]})
	}
}

func (t *teller) ended(r ginkgo.SpecReport) {
	if r.State.Is(types.SpecStateSkipped) && r.Failure.Message == "" {
		return // not selected
	}
	e := Ended{Clause: clause(r), Spec: r.FullText(), Duration: r.RunTime, Outcome: outcome(r)}
	switch e.Outcome {
	case pass:
	case couldNotRun:
		e.Reason = r.Failure.Message
	default:
		f := parseFailure(r.FailureMessage())
		if r.Failure.ForwardedPanic != "" {
			f.Message += ": " + r.Failure.ForwardedPanic
		}
		if extra := r.Failure.AdditionalFailure; extra != nil {
			f.Message += "\n" + extra.Failure.Message
		}
		f.Location = fmt.Sprintf("%s:%d", shortFile(r.FailureLocation().FileName), r.FailureLocation().LineNumber)
		e.Failure = &f
	}
	t.notify(EventEnded, e)
}

func outcome(r ginkgo.SpecReport) string {
	switch {
	case r.State.Is(types.SpecStatePassed):
		return pass
	case r.State.Is(types.SpecStateSkipped):
		return couldNotRun
	case r.State.Is(types.SpecStateTimedout):
		return timeout
	case r.State.Is(types.SpecStateFailed) && !strings.HasPrefix(r.Failure.Message, harnessPrefix):
		return fail
	default:
		return harnessError
	}
}

// shortFile keeps a file's last two elements: a report names no path of the machine that built the suite.
func shortFile(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}
