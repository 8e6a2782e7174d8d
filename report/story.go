package report

import (
	"fmt"
	"path"
	"strings"
)

// story tells what happened to a clause, line by line: its sentence, then for each spec without a clean pass what was
// done, wanted and seen, and where the evidence lies under root. Text of several lines is indented below its label.
func (c *ClauseResult) story(root string) []string {
	lines := entry(strings.ToLower(string(c.Level)), c.Sentence)
	told := false
	for _, s := range c.Specs {
		if s.Outcome == Pass || s.Outcome == NotApplicable {
			continue
		}
		told = true
		lines = append(lines, s.story(root)...)
	}
	if !told {
		lines = append(lines, entry("reason", c.Reason)...)
	}
	return lines
}

func (s *SpecResult) story(root string) []string {
	lines := entry("spec", fmt.Sprintf("%s (%s)", s.Name, s.Outcome))
	if f := s.Failure; f != nil {
		lines = append(lines, entry("did", f.Did)...)
		lines = append(lines, f.wanted()...)
		lines = append(lines, entry("got", f.Got)...)
		lines = append(lines, entry("said", f.Message)...)
		lines = append(lines, entry("at", f.Location)...)
	}
	lines = append(lines, entry("reason", s.Reason)...)
	for _, e := range s.Evidence {
		lines = append(lines, entry("evidence", path.Join(root, e))...)
	}
	return lines
}

func (f *Failure) wanted() []string {
	if len(f.Want) < 2 {
		return entry("want", strings.Join(f.Want, ""))
	}
	lines := entry("want", "any of")
	for _, w := range f.Want {
		lines = append(lines, entry("", "- "+w)...)
	}
	return lines
}

// entry is a labelled text; nothing for an empty one.
func entry(label, text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = fmt.Sprintf("%-8s  %s", label, lines[i])
		label = ""
	}
	return lines
}
