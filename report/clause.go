package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Level is a clause's RFC 2119 level.
type Level string

// The levels.
const (
	// Must decides the verdict.
	Must Level = "MUST"
	// Should decides the grade.
	Should Level = "SHOULD"
	// May decides nothing; it is reported.
	May Level = "MAY"
)

// Clause is one sentence of the contract, as the runner took it from the registry.
type Clause struct {
	// ID is made of words and never reused: "section.what-it-says".
	ID      string `json:"id"`
	Section string `json:"section"`
	Level   Level  `json:"level"`
	// Profile is what a target claims to be judged by this clause.
	Profile string `json:"profile"`
	// Source is where the demand comes from: a document's section, an RFC's, or "invariant".
	Source string `json:"source,omitempty"`
	// Sentence is what is demanded, word for word.
	Sentence string `json:"sentence"`
	// Long clauses wait for more than about ten seconds, and run only when asked for.
	Long bool `json:"long,omitempty"`
}

// ClauseResult is what a run found out about one clause. It has either an outcome or an omission, never both.
type ClauseResult struct {
	Clause
	// Outcome is the worst of the specs' outcomes; empty when the clause was omitted.
	Outcome Outcome `json:"outcome,omitempty"`
	// Omitted says why the clause was not part of the run; empty when it has an outcome.
	Omitted Omission `json:"omitted,omitempty"`
	// Reason explains every outcome but PASS, and every omission.
	Reason string `json:"reason,omitempty"`
	// Specs are the single attempts to break the clause; empty when nothing ran.
	Specs []SpecResult `json:"specs,omitempty"`
	// Duration is the sum of the specs' durations.
	Duration Duration `json:"duration_ms"`
}

// SpecResult is what one spec found. Its outcome knows no levels: a broken spec of a SHOULD is a FAIL here and makes its
// clause a WARN.
type SpecResult struct {
	// Name says what the target is seen to do, in present tense.
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Reason says why the spec did not run, or was no proof.
	Reason   string   `json:"reason,omitempty"`
	Duration Duration `json:"duration_ms"`
	// Failure is there when the target was seen to break the sentence. A flaky spec keeps its first one.
	Failure *Failure `json:"failure,omitempty"`
	// Evidence are files, as slash-separated paths relative to the report's own directory.
	Evidence []string `json:"evidence,omitempty"`
}

// Failure tells what the target did instead of what the sentence demands.
type Failure struct {
	// Did is what the suite did to the target.
	Did string `json:"did,omitempty"`
	// Want lists everything that would have kept the sentence: any of them.
	Want []string `json:"want,omitempty"`
	// Got is what was seen.
	Got string `json:"got,omitempty"`
	// Message is for failures that the three above don't describe; it is there when Got is empty.
	Message string `json:"message,omitempty"`
	// Location is the spec's own file and line, for whoever maintains the suite.
	Location string `json:"location,omitempty"`
}

// Summary is the failure in one line.
func (f *Failure) Summary() string {
	var parts []string
	if f.Did != "" {
		parts = append(parts, f.Did)
	}
	if len(f.Want) > 0 {
		parts = append(parts, "want "+anyOf(f.Want))
	}
	if f.Got != "" {
		parts = append(parts, "got "+f.Got)
	}
	if f.Message != "" {
		parts = append(parts, f.Message)
	}
	return strings.Join(parts, "; ")
}

func anyOf(want []string) string {
	if len(want) == 1 {
		return want[0]
	}
	return "any of " + strings.Join(want, " | ")
}

// Omit is the result of a clause that is no part of the run.
func Omit(c Clause, why Omission, reason string) ClauseResult {
	return ClauseResult{Clause: c, Omitted: why, Reason: reason}
}

// NotRun is the result of a clause that is part of the run and of which no spec ran: NOT_APPLICABLE, COULD_NOT_RUN or
// HARNESS_ERROR, with the reason.
func NotRun(c Clause, o Outcome, reason string) ClauseResult {
	return ClauseResult{Clause: c, Outcome: o, Reason: reason}
}

// Combine makes a clause's result from its specs: the worst outcome wins, a FAIL becomes a WARN below MUST, and the
// reason is taken from the first spec with that outcome. Without specs it is a HARNESS_ERROR, for nothing was judged.
func Combine(c Clause, specs []SpecResult) ClauseResult {
	result := ClauseResult{Clause: c, Specs: specs}
	if len(specs) == 0 {
		result.Outcome, result.Reason = HarnessError, "none of the clause's specs reported an outcome"
		return result
	}
	outcomes := make([]Outcome, len(specs))
	for i, s := range specs {
		outcomes[i] = s.Outcome
		result.Duration += s.Duration
	}
	worst := Worst(outcomes...)
	if worst != Pass {
		result.Reason = specs[slices.Index(outcomes, worst)].reason()
	}
	if worst == Fail && c.Level != Must {
		worst = Warn
	}
	result.Outcome = worst
	return result
}

// reason prefers the failure: it says more than "failed".
func (s SpecResult) reason() string {
	text := s.Reason
	if s.Failure != nil {
		text = s.Failure.Summary()
	}
	if text == "" {
		text = "no reason was given"
	}
	if s.Name == "" {
		return text
	}
	return s.Name + ": " + text
}

// Executed tells whether the target was judged by the clause.
func (c *ClauseResult) Executed() bool { return c.Outcome.Executed() }

// Breaks tells whether this result alone makes the verdict "not conformant".
func (c *ClauseResult) Breaks() bool { return c.Level == Must && c.Outcome.broken() }

// check refuses a result that a reader could misunderstand.
func (c *ClauseResult) check() error {
	switch {
	case c.ID == "":
		return fmt.Errorf("a clause of section %q has no id", c.Section)
	case c.Outcome == "" && c.Omitted == "":
		return fmt.Errorf("clause %s has neither an outcome nor an omission", c.ID)
	case c.Outcome != "" && c.Omitted != "":
		return fmt.Errorf("clause %s is omitted (%s) and has an outcome (%s)", c.ID, c.Omitted, c.Outcome)
	case c.Outcome != Pass && c.Reason == "":
		return fmt.Errorf("clause %s is %s%s without a reason", c.ID, c.Outcome, c.Omitted)
	case c.Outcome == Fail && c.Level != Must:
		return fmt.Errorf("clause %s is a %s and can't FAIL: want WARN", c.ID, c.Level)
	case c.Outcome == Warn && c.Level == Must:
		return fmt.Errorf("clause %s is a MUST and can't be a WARN: want FAIL", c.ID)
	}
	if c.Level != Must && c.Level != Should && c.Level != May {
		return fmt.Errorf("clause %s has the level %q: want MUST, SHOULD or MAY", c.ID, c.Level)
	}
	if c.Omitted != "" {
		_, err := ParseOmission(string(c.Omitted))
		return prefix(c.ID, err)
	}
	_, err := ParseOutcome(string(c.Outcome))
	return prefix(c.ID, err)
}

func prefix(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("clause %s: %w", id, err)
}

// Duration is a time span that reports carry in whole milliseconds.
type Duration time.Duration

// MarshalJSON writes whole milliseconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).Milliseconds())
}

// UnmarshalJSON reads whole milliseconds.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var ms int64
	if err := json.Unmarshal(text, &ms); err != nil {
		return fmt.Errorf("a duration in milliseconds: %w", err)
	}
	if limit := int64(math.MaxInt64 / time.Millisecond); ms < 0 || ms > limit {
		return fmt.Errorf("a duration of %d ms: want 0 to %d", ms, limit)
	}
	*d = Duration(time.Duration(ms) * time.Millisecond)
	return nil
}

// String is for people: tenths of a second.
func (d Duration) String() string {
	return fmt.Sprintf("%.1fs", time.Duration(d).Seconds())
}
