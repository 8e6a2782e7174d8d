package report

import (
	"fmt"
	"path"
	"strings"
)

// Finish closes the console and prints the end of a finished run: one line for each clause that was broken, one for each
// that could not run, what was left out, the counts, the verdict, and where the reports lie. It returns the first error of
// all the writing.
func (c *Console) Finish(r *Run, files ...string) error {
	c.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group("Broken:", r, func(x *ClauseResult) bool { return x.Level == Must && x.Outcome.broken() })
	c.group("Broken below MUST:", r, func(x *ClauseResult) bool { return x.Level != Must && x.Outcome.broken() })
	c.group("Could not run:", r, func(x *ClauseResult) bool { return x.Outcome == CouldNotRun })
	c.group("Errors of the suite:", r, func(x *ClauseResult) bool { return x.Outcome == HarnessError })
	c.omissions(r)
	c.printf("")
	c.printf("%s", r.Counts.line())
	c.printf("Took %s", Duration(r.Finished.Sub(r.Started)))
	c.printf("Verdict: %s", r.Verdict.Text)
	for _, file := range files {
		c.printf("Report: %s", file)
	}
	if c.err != nil {
		return fmt.Errorf("writing to the console: %w", c.err)
	}
	return nil
}

// group prints a heading and a line for each clause that matches; nothing when none does.
func (c *Console) group(heading string, r *Run, match func(*ClauseResult) bool) {
	width := 0
	var found []*ClauseResult
	for i := range r.Clauses {
		if x := &r.Clauses[i]; match(x) {
			found = append(found, x)
			width = max(width, len(x.ID))
		}
	}
	if len(found) == 0 {
		return
	}
	c.printf("")
	c.printf("%s", heading)
	for _, x := range found {
		after := " " + oneLine(x.Reason)
		if e := x.evidence(); e != "" {
			after += "  (" + path.Join(c.o.Root, e) + ")"
		}
		c.print(c.clean(fmt.Sprintf("  %-*s  ", width, x.ID)) + c.paint(x.Outcome) + c.clean(after))
	}
}

// evidence is the folder or file to look at first.
func (c *ClauseResult) evidence() string {
	for _, s := range c.Specs {
		if s.Outcome == Pass || len(s.Evidence) == 0 {
			continue
		}
		if len(s.Evidence) == 1 {
			return s.Evidence[0]
		}
		return path.Dir(s.Evidence[0])
	}
	return ""
}

// omissions names what was left out, as far as a person would read it; the JSON report names all.
func (c *Console) omissions(r *Run) {
	const most = 12
	headed := false
	for _, o := range Omissions() {
		ids := r.Scope.Omitted[o]
		if len(ids) == 0 {
			continue
		}
		if !headed {
			c.printf("")
			c.printf("Left out:")
			headed = true
		}
		line := "  " + o.phrase(len(ids))
		if len(ids) <= most {
			line += ": " + strings.Join(ids, ", ")
		}
		c.printf("%s", line)
	}
}

// line is the counts in one line: what adds up to the whole contract.
func (c Counts) line() string {
	parts := []string{}
	for _, o := range Outcomes() {
		if n := c.Outcomes[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	for _, o := range Omissions() {
		if n := c.Omitted[o]; n > 0 {
			parts = append(parts, o.phrase(n))
		}
	}
	return fmt.Sprintf("%s: %s", counted(c.Clauses), strings.Join(parts, ", "))
}
