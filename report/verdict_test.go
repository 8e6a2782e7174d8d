package report_test

import (
	"strings"
	"testing"

	"github.com/browser-sidecar/conformance/report"
)

func TestVerdict(t *testing.T) {
	var (
		must     = ran("a.must", report.Must, report.Pass)
		should   = ran("a.should", report.Should, report.Pass)
		warn     = ran("a.warn", report.Should, report.Fail)
		fail     = ran("a.fail", report.Must, report.Fail)
		unknown  = report.NotRun(clause("a.unknown", report.Should), report.CouldNotRun, "no display")
		harness  = ran("a.harness", report.Must, report.HarnessError)
		foreign  = report.NotRun(clause("a.foreign", report.Must), report.NotApplicable, "profile live is not claimed")
		pending  = report.Omit(clause("a.pending", report.Must), report.Pending, "no spec yet")
		filtered = report.Omit(clause("a.filtered", report.Must), report.Filtered, "--section b")
		long     = report.Omit(clause("a.long", report.Should), report.NotLong, "needs --long")
	)
	for _, row := range []struct {
		name    string
		clauses []report.ClauseResult
		change  func(*report.Run)
		value   report.Judgement
		grade   report.Grade
		exit    int
		text    string
	}{
		{
			name: "everything holds", clauses: []report.ClauseResult{must, should},
			value: report.Conformant, grade: report.Hardened, exit: 0,
			text: "conformant, hardened, for 2 of 2 clauses",
		},
		{
			name: "no SHOULD was executed", clauses: []report.ClauseResult{must},
			value: report.Conformant, exit: 0, text: "conformant for 1 of 1 clause",
		},
		{
			name: "a SHOULD is broken", clauses: []report.ClauseResult{must, should, warn},
			value: report.Conformant, exit: 0,
			text: "conformant for 3 of 3 clauses; 1 clause below MUST broken: a.warn",
		},
		{
			name: "a SHOULD is too slow", clauses: []report.ClauseResult{must, ran("a.slow", report.Should, report.Timeout)},
			value: report.Conformant, exit: 0,
			text: "conformant for 2 of 2 clauses; 1 clause below MUST broken: a.slow",
		},
		{
			name: "a MAY is broken", clauses: []report.ClauseResult{must, should, ran("a.may", report.May, report.Fail)},
			value: report.Conformant, grade: report.Hardened, exit: 0,
			text: "conformant, hardened, for 3 of 3 clauses; 1 clause below MUST broken: a.may",
		},
		{
			name: "parts are left out", clauses: []report.ClauseResult{must, should, foreign, pending, filtered, long},
			value: report.Conformant, grade: report.Hardened, exit: 0,
			text: "conformant, hardened, for 2 of 6 clauses (not run: 1 pending, 1 filtered out, 1 long, 1 not applicable)",
		},
		{
			name: "a MUST is broken", clauses: []report.ClauseResult{must, fail, filtered},
			value: report.NotConformant, exit: 1,
			text: "not conformant: 1 clause broken of 2 executed: a.fail (not run: 1 filtered out)",
		},
		{
			name: "a MUST is too slow", clauses: []report.ClauseResult{ran("a.slow", report.Must, report.Timeout)},
			value: report.NotConformant, exit: 1, text: "not conformant: 1 clause broken of 1 executed: a.slow",
		},
		{
			name: "a MUST is flaky", clauses: []report.ClauseResult{must, ran("a.flaky", report.Must, report.Flaky)},
			value: report.NotConformant, exit: 1, text: "not conformant: 1 clause broken of 2 executed: a.flaky",
		},
		{
			name: "a broken MUST is proof although others are unknown", clauses: []report.ClauseResult{fail, unknown, harness},
			value: report.NotConformant, exit: 1, text: "not conformant: 1 clause broken of 1 executed: a.fail",
		},
		{
			name: "a selected SHOULD could not run", clauses: []report.ClauseResult{must, unknown},
			value: report.Incomplete, exit: 2, text: "incomplete: nothing is known about 1 clause: a.unknown",
		},
		{
			name: "the suite failed at a clause", clauses: []report.ClauseResult{must, harness},
			value: report.Incomplete, exit: 2, text: "incomplete: nothing is known about 1 clause: a.harness",
		},
		{
			name: "nothing was executed", clauses: []report.ClauseResult{pending, foreign},
			value: report.Incomplete, exit: 2,
			text: "incomplete: no clause was executed (not run: 1 pending, 1 not applicable)",
		},
		{
			name: "an empty contract", value: report.Incomplete, exit: 2, text: "incomplete: no clause was executed",
		},
		{
			name: "the suite failed as a whole", clauses: []report.ClauseResult{must, fail},
			change: func(r *report.Run) { r.HarnessError = "the lab is not sealed" },
			value:  report.Incomplete, exit: 2, text: "incomplete: the suite itself failed: the lab is not sealed",
		},
		{
			name: "the target never became ready", clauses: []report.ClauseResult{unknown},
			change: func(r *report.Run) { r.TargetNeverReady = "it exited with code 1" },
			value:  report.Incomplete, exit: 3, text: "incomplete: the target never became ready: it exited with code 1",
		},
		{
			name: "a broken lab is not the target's fault", clauses: []report.ClauseResult{unknown},
			change: func(r *report.Run) { r.HarnessError, r.TargetNeverReady = "no lab", "no lab" },
			value:  report.Incomplete, exit: 2, text: "incomplete: the suite itself failed: no lab",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			run := unfinished(row.clauses...)
			if row.change != nil {
				row.change(run)
			}
			if err := run.Finish(started); err != nil {
				t.Fatal(err)
			}
			want := report.Verdict{Value: row.value, Grade: row.grade, Text: row.text}
			if run.Verdict != want {
				t.Errorf("verdict:\n got %+v\nwant %+v", run.Verdict, want)
			}
			if got := run.ExitCode(); got != row.exit {
				t.Errorf("exit code %d, want %d", got, row.exit)
			}
		})
	}
}

func TestAnUnfinishedRunIsIncomplete(t *testing.T) {
	if got := unfinished(ran("a.b", report.Must, report.Pass)).ExitCode(); got != report.ExitIncomplete {
		t.Errorf("exit code %d, want %d", got, report.ExitIncomplete)
	}
	if report.ExitUsage != 64 {
		t.Errorf("usage exits with %d, want 64", report.ExitUsage)
	}
}

func TestManyBrokenClausesAreCut(t *testing.T) {
	var results []report.ClauseResult
	for _, letter := range strings.Split("abcdefghijkl", "") {
		results = append(results, ran("x."+letter, report.Must, report.Fail))
	}
	text := finished(t, results...).Verdict.Text
	if !strings.Contains(text, "x.j and 2 more") || strings.Contains(text, "x.k") {
		t.Errorf("got %q", text)
	}
}

func TestScopeAndCounts(t *testing.T) {
	run := finished(
		t, ran("a.a", report.Must, report.Pass), ran("a.b", report.Should, report.Fail),
		report.NotRun(clause("a.c", report.Must), report.NotApplicable, "not claimed"),
		report.Omit(clause("b.d", report.Must), report.Pending, "no spec yet"),
		report.Omit(clause("b.e", report.Must), report.Pending, "no spec yet"),
	)
	if run.Scope.Complete || len(run.Scope.Omitted) != 1 || strings.Join(run.Scope.Omitted[report.Pending], " ") != "b.d b.e" {
		t.Errorf("scope %+v", run.Scope)
	}
	sum := 0
	for _, n := range run.Counts.Outcomes {
		sum += n
	}
	for _, n := range run.Counts.Omitted {
		sum += n
	}
	if run.Counts.Clauses != 5 || run.Counts.Executed != 2 || sum != 5 {
		t.Errorf("counts %+v, which add up to %d", run.Counts, sum)
	}
	if !finished(t, ran("a.a", report.Must, report.Pass)).Scope.Complete {
		t.Error("a run of everything is not complete")
	}
}

func TestFinishRefusesWhatAReaderCouldMisunderstand(t *testing.T) {
	with := func(change func(*report.ClauseResult)) []report.ClauseResult {
		c := ran("a.b", report.Must, report.Pass)
		change(&c)
		return []report.ClauseResult{c}
	}
	for _, row := range []struct {
		want    string
		clauses []report.ClauseResult
	}{
		{"clause a.b is there twice", []report.ClauseResult{ran("a.b", report.Must, report.Pass), ran("a.b", report.Must, report.Pass)}},
		{"has no id", with(func(c *report.ClauseResult) { c.ID = "" })},
		{"neither an outcome nor an omission", with(func(c *report.ClauseResult) { c.Outcome = "" })},
		{"is omitted (long) and has an outcome (PASS)", with(func(c *report.ClauseResult) { c.Omitted = report.NotLong })},
		{"is TIMEOUT without a reason", with(func(c *report.ClauseResult) { c.Outcome = report.Timeout })},
		{"can't be a WARN", with(func(c *report.ClauseResult) { c.Outcome, c.Reason = report.Warn, "x" })},
		{"can't FAIL", with(func(c *report.ClauseResult) { c.Level, c.Outcome, c.Reason = report.Should, report.Fail, "x" })},
		{`the level "SHALL"`, with(func(c *report.ClauseResult) { c.Level = "SHALL" })},
		{`unknown outcome "OK"`, with(func(c *report.ClauseResult) { c.Outcome, c.Reason = "OK", "x" })},
		{`unknown omission "later"`, with(func(c *report.ClauseResult) { c.Outcome, c.Omitted, c.Reason = "", "later", "x" })},
	} {
		err := unfinished(row.clauses...).Finish(started)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("want an error with %q, got %v", row.want, err)
		}
	}
}
