package report_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var started = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clause(id string, level report.Level) report.Clause {
	section, _, _ := strings.Cut(id, ".")
	return report.Clause{
		ID: id, Section: section, Level: level, Profile: "core", Source: "invariant",
		Sentence: "the sentence of " + id,
	}
}

func spec(o report.Outcome) report.SpecResult {
	s := report.SpecResult{Name: "does it", Outcome: o, Duration: report.Duration(400 * time.Millisecond)}
	switch o {
	case report.Pass:
	case report.Fail, report.Flaky:
		s.Failure = &report.Failure{Did: "asked", Want: []string{"403", "502"}, Got: "200", Location: "suites/a.go:7"}
		s.Evidence = []string{"evidence/a.b/transcript.txt", "evidence/a.b/dns.txt"}
	default:
		s.Reason = "because"
	}
	return s
}

// ran is a clause whose only spec had this outcome.
func ran(id string, level report.Level, o report.Outcome) report.ClauseResult {
	return report.Combine(clause(id, level), []report.SpecResult{spec(o)})
}

func finished(t *testing.T, results ...report.ClauseResult) *report.Run {
	t.Helper()
	run := unfinished(results...)
	if err := run.Finish(started.Add(90 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return run
}

func unfinished(results ...report.ClauseResult) *report.Run {
	return &report.Run{
		Suite:    report.Suite{Name: "conformance", Version: "0.1.0"},
		Contract: report.Contract{Name: "sidecar", Version: "1"},
		Target:   report.Target{Kind: report.CommandTarget, Identity: "./sidecar serve", Version: "0.1.0"},
		Started:  started,
		Seed:     42,
		Options:  []report.Option{{Name: "seed", Value: "42", Source: "flag"}},
		Profiles: []string{"core"},
		Clauses:  results,
	}
}
