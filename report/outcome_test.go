package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/browser-sidecar/conformance/report"
)

func TestParseOutcome(t *testing.T) {
	for _, o := range report.Outcomes() {
		if got, err := report.ParseOutcome(string(o)); got != o || err != nil {
			t.Errorf("ParseOutcome(%q) = %q, %v", o, got, err)
		}
	}
	for _, text := range []string{"", "pass", "PASSED", "SKIPPED", "PASS "} {
		_, err := report.ParseOutcome(text)
		if err == nil || !strings.Contains(err.Error(), "HARNESS_ERROR") {
			t.Errorf("ParseOutcome(%q): want an error that lists the outcomes, got %v", text, err)
		}
	}
	if _, err := report.ParseOmission("later"); err == nil {
		t.Error("ParseOmission(later): want an error")
	}
}

func TestUnknownOutcomeDoesNotEnterByJSON(t *testing.T) {
	for _, text := range []string{`{"outcome":"OK"}`, `{"omitted":"later"}`, `{"outcome":""}`, `{"duration_ms":-1}`, `{"duration_ms":1e300}`} {
		var c report.ClauseResult
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s: want an error", text)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, row := range []struct {
		outcomes []report.Outcome
		want     report.Outcome
	}{
		{nil, report.HarnessError},
		{[]report.Outcome{report.Pass}, report.Pass},
		{[]report.Outcome{report.NotApplicable, report.Pass}, report.Pass},
		{[]report.Outcome{report.NotApplicable, report.NotApplicable}, report.NotApplicable},
		{[]report.Outcome{report.Pass, report.CouldNotRun}, report.CouldNotRun},
		{[]report.Outcome{report.HarnessError, report.CouldNotRun}, report.HarnessError},
		{[]report.Outcome{report.Flaky, report.HarnessError}, report.Flaky},
		{[]report.Outcome{report.Flaky, report.Timeout}, report.Timeout},
		{[]report.Outcome{report.Fail, report.HarnessError, report.Pass, report.Timeout}, report.Fail},
	} {
		if got := report.Worst(row.outcomes...); got != row.want {
			t.Errorf("Worst(%v) = %s, want %s", row.outcomes, got, row.want)
		}
	}
}

// The lattice is total and its join commutes, so that the order in which shards report doesn't matter.
func TestWorstIgnoresOrder(t *testing.T) {
	for _, a := range report.Outcomes() {
		for _, b := range report.Outcomes() {
			if ab, ba := report.Worst(a, b), report.Worst(b, a); ab != ba || (ab != a && ab != b) {
				t.Errorf("Worst(%s, %s) = %s, Worst(%s, %s) = %s", a, b, ab, b, a, ba)
			}
		}
	}
}

func TestCombine(t *testing.T) {
	for _, row := range []struct {
		level  report.Level
		specs  []report.Outcome
		want   report.Outcome
		reason string
	}{
		{report.Must, []report.Outcome{report.Pass, report.Pass}, report.Pass, ""},
		{report.Must, []report.Outcome{report.Pass, report.Fail}, report.Fail, "does it: asked; want any of 403 | 502; got 200"},
		{report.Should, []report.Outcome{report.Fail}, report.Warn, "does it: asked; want any of 403 | 502; got 200"},
		{report.May, []report.Outcome{report.Fail}, report.Warn, "does it: asked; want any of 403 | 502; got 200"},
		{report.Should, []report.Outcome{report.Timeout, report.Pass}, report.Timeout, "does it: because"},
		{report.Must, []report.Outcome{report.CouldNotRun, report.Pass}, report.CouldNotRun, "does it: because"},
		{report.Must, nil, report.HarnessError, "none of the clause's specs reported an outcome"},
	} {
		var specs []report.SpecResult
		for _, o := range row.specs {
			specs = append(specs, spec(o))
		}
		got := report.Combine(clause("a.b", row.level), specs)
		if got.Outcome != row.want || got.Reason != row.reason {
			t.Errorf("%s of %v: got %s %q, want %s %q", row.level, row.specs, got.Outcome, got.Reason, row.want, row.reason)
		}
		if want := report.Duration(len(specs)) * spec(report.Pass).Duration; got.Duration != want {
			t.Errorf("%s of %v: took %s, want the sum %s", row.level, row.specs, got.Duration, want)
		}
	}
}

func TestCombineNeverLeavesTheReasonEmpty(t *testing.T) {
	got := report.Combine(clause("a.b", report.Must), []report.SpecResult{{Outcome: report.Fail}})
	if got.Reason == "" {
		t.Error("a failure without details has no reason")
	}
}
