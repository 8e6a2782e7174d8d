package report

import (
	"fmt"
	"strings"
)

// Judgement is the verdict's one word. The set is closed.
type Judgement string

// The judgements.
const (
	// Conformant: every MUST that was executed holds, and nothing that was selected is unknown.
	Conformant Judgement = "conformant"
	// NotConformant: at least one MUST was seen broken, too slow or flaky.
	NotConformant Judgement = "not conformant"
	// Incomplete: nothing was seen broken, but something that was selected is unknown, or nothing was executed.
	Incomplete Judgement = "incomplete"
)

// Grade is what a conformant target earns beyond it.
type Grade string

// Hardened is earned when every SHOULD that was executed holds too, and at least one was.
const Hardened Grade = "hardened"

// Verdict is what a reader may conclude, for the clauses in scope and for nothing else.
type Verdict struct {
	Value Judgement `json:"value"`
	Grade Grade     `json:"grade,omitempty"`
	// Text is the verdict as a sentence that names its scope. Quote this, not the one word.
	Text string `json:"text"`
}

// The exit codes of a command that runs the suite.
const (
	ExitConformant    = 0
	ExitNotConformant = 1
	// ExitIncomplete is for an incomplete run and for errors of the suite itself.
	ExitIncomplete = 2
	// ExitTargetNeverReady is for a target that could not be judged at all.
	ExitTargetNeverReady = 3
	// ExitUsage is for a wrong command line, on which nothing ran and no report was written.
	ExitUsage = 64
)

// ExitCode is the finished run's exit code. Everything but a computed verdict is incomplete.
func (r *Run) ExitCode() int {
	switch {
	case r.HarnessError != "":
		return ExitIncomplete
	case r.TargetNeverReady != "":
		return ExitTargetNeverReady
	case r.Verdict.Value == Conformant:
		return ExitConformant
	case r.Verdict.Value == NotConformant:
		return ExitNotConformant
	default:
		return ExitIncomplete
	}
}

// judge applies the verdict's rule. A harness error of the whole run makes everything doubtful; otherwise a broken MUST is
// proof whatever else could not run.
func (r *Run) judge() Verdict {
	counts := r.Counts
	switch {
	case r.HarnessError != "":
		return Verdict{Value: Incomplete, Text: "incomplete: the suite itself failed: " + r.HarnessError}
	case r.TargetNeverReady != "":
		return Verdict{Value: Incomplete, Text: "incomplete: the target never became ready: " + r.TargetNeverReady}
	}
	if broken := r.ids((*ClauseResult).Breaks); len(broken) > 0 {
		return Verdict{Value: NotConformant, Text: fmt.Sprintf("not conformant: %s broken of %d executed: %s%s",
			counted(len(broken)), counts.Executed, names(broken), r.aside())}
	}
	if unknown := r.ids(isUnknown); len(unknown) > 0 {
		return Verdict{Value: Incomplete, Text: fmt.Sprintf("incomplete: nothing is known about %s: %s%s",
			counted(len(unknown)), names(unknown), r.aside())}
	}
	if counts.Executed == 0 {
		return Verdict{Value: Incomplete, Text: "incomplete: no clause was executed" + r.aside()}
	}
	grade := r.grade()
	word := string(Conformant)
	if grade != "" {
		word += ", " + string(grade) + ","
	}
	return Verdict{
		Value: Conformant,
		Grade: grade,
		Text:  fmt.Sprintf("%s for %d of %s%s%s", word, counts.Executed, counted(counts.Clauses), r.aside(), r.warned()),
	}
}

// warned ends a conformant verdict's text with what holds back the grade.
func (r *Run) warned() string {
	broken := r.ids(func(c *ClauseResult) bool { return c.Outcome.broken() })
	if len(broken) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s below MUST broken: %s", counted(len(broken)), names(broken))
}

func (r *Run) grade() Grade {
	executed := 0
	for i := range r.Clauses {
		c := &r.Clauses[i]
		if c.Level != Should || !c.Executed() {
			continue
		}
		if c.Outcome.broken() {
			return ""
		}
		executed++
	}
	if executed == 0 {
		return ""
	}
	return Hardened
}

// aside is the parenthesis that keeps a reader from taking a part for the whole: what the verdict does not speak about.
func (r *Run) aside() string {
	var parts []string
	for _, o := range Omissions() {
		if n := r.Counts.Omitted[o]; n > 0 {
			parts = append(parts, o.phrase(n))
		}
	}
	if n := r.Counts.Outcomes[NotApplicable]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not applicable", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (not run: " + strings.Join(parts, ", ") + ")"
}

func isUnknown(c *ClauseResult) bool {
	return c.Outcome == CouldNotRun || c.Outcome == HarnessError
}

func (r *Run) ids(match func(*ClauseResult) bool) []string {
	var ids []string
	for i := range r.Clauses {
		if c := &r.Clauses[i]; match(c) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// names lists the first few; the clauses themselves carry the rest.
func names(ids []string) string {
	const most = 10
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

func counted(n int) string {
	if n == 1 {
		return "1 clause"
	}
	return fmt.Sprintf("%d clauses", n)
}
