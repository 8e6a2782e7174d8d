package report

import (
	"fmt"
	"slices"
	"strings"
)

// Outcome is what came of a spec or of a clause. The set is closed: a reader that meets another value must refuse it.
type Outcome string

// The outcomes.
const (
	// Pass: the sentence held, in every way in which the suite tried it.
	Pass Outcome = "PASS"
	// Fail: a MUST was seen broken.
	Fail Outcome = "FAIL"
	// Warn: a SHOULD (or a MAY that the target offers) was seen broken. It never decides the verdict.
	Warn Outcome = "WARN"
	// NotApplicable: the target does not claim the profile, or does not offer what an optional clause is about.
	NotApplicable Outcome = "NOT_APPLICABLE"
	// CouldNotRun: the clause was selected and applies, yet something it needs was missing. It says nothing about the
	// target, so the verdict can at best be incomplete.
	CouldNotRun Outcome = "COULD_NOT_RUN"
	// Timeout: the spec's own time limit passed before it had an answer. On a MUST it counts as broken.
	Timeout Outcome = "TIMEOUT"
	// Flaky: broken once, and not when it was run again. On a MUST it counts as broken.
	Flaky Outcome = "FLAKY"
	// HarnessError: the suite itself failed. The target is not to blame, and nothing is known about it.
	HarnessError Outcome = "HARNESS_ERROR"
)

// lattice orders the outcomes from best to worst; what combines several takes the worst. Proof comes above the lack of
// it: once a clause was seen broken, a spec that could not run can't mend that.
func lattice() []Outcome {
	return []Outcome{NotApplicable, Pass, CouldNotRun, HarnessError, Flaky, Timeout, Warn, Fail}
}

// Outcomes lists the closed set, in the order in which reports count them.
func Outcomes() []Outcome {
	return []Outcome{Pass, Fail, Warn, Timeout, Flaky, CouldNotRun, HarnessError, NotApplicable}
}

// ParseOutcome refuses everything outside the closed set.
func ParseOutcome(text string) (Outcome, error) {
	if o := Outcome(text); slices.Contains(Outcomes(), o) {
		return o, nil
	}
	return "", fmt.Errorf("unknown outcome %q: want one of %s", text, list(Outcomes()))
}

// UnmarshalText parses as [ParseOutcome] does, so that no unknown outcome enters by JSON.
func (o *Outcome) UnmarshalText(text []byte) error {
	parsed, err := ParseOutcome(string(text))
	if err == nil {
		*o = parsed
	}
	return err
}

// Executed tells whether the target was really judged.
func (o Outcome) Executed() bool {
	return o == Pass || o.broken()
}

// broken tells whether the target was seen to miss the sentence.
func (o Outcome) broken() bool {
	return o == Fail || o == Warn || o == Timeout || o == Flaky
}

// Worst combines outcomes: the worst wins, and of none nothing is known, which is a harness error.
func Worst(outcomes ...Outcome) Outcome {
	if len(outcomes) == 0 {
		return HarnessError
	}
	order := lattice()
	return slices.MaxFunc(outcomes, func(a, b Outcome) int {
		return slices.Index(order, a) - slices.Index(order, b)
	})
}

// Omission says why a clause was left out of a run before it started. Such a clause has no outcome at all, and does not
// count against the verdict, whose text and scope name it.
type Omission string

// The omissions.
const (
	// Pending: the suite has no spec for the clause yet.
	Pending Omission = "pending"
	// Filtered: the user's selection leaves it out.
	Filtered Omission = "filtered"
	// NotLong: it takes long, and long clauses were not asked for.
	NotLong Omission = "long"
)

// Omissions lists the closed set.
func Omissions() []Omission { return []Omission{Pending, Filtered, NotLong} }

// ParseOmission refuses everything outside the closed set.
func ParseOmission(text string) (Omission, error) {
	if o := Omission(text); slices.Contains(Omissions(), o) {
		return o, nil
	}
	return "", fmt.Errorf("unknown omission %q: want one of %s", text, list(Omissions()))
}

// UnmarshalText parses as [ParseOmission] does.
func (o *Omission) UnmarshalText(text []byte) error {
	parsed, err := ParseOmission(string(text))
	if err == nil {
		*o = parsed
	}
	return err
}

// phrase is how a sentence counts clauses of this omission.
func (o Omission) phrase(n int) string {
	switch o {
	case Filtered:
		return fmt.Sprintf("%d filtered out", n)
	case NotLong:
		return fmt.Sprintf("%d long", n)
	default:
		return fmt.Sprintf("%d %s", n, o)
	}
}

func list[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
