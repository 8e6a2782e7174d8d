package spec

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzLoad feeds any section, exclusions and pending list: a contract that loads keeps the rules, and one that doesn't names
// the place.
func FuzzLoad(f *testing.F) {
	f.Add(goodSection, goodExcluded, "door.opens\n")
	f.Add(section("### door.x\nMUST · core · fast · since 1 · invariant\n\nA.\n\n> Note: B.\n"), "", "")
	f.Add(section("```\n"), "# x\n\n### door.y\n", "#\n#\n?")
	f.Add("# Doors\r\n\r\nIds: `door.*` · Profile: core", ">", "a.b")
	f.Add("#\n######## x\n> \n>\n|\n-", "###", "\x00")
	f.Fuzz(func(t *testing.T, sectionText, excluded, pending string) {
		c, err := Load("doors", folder(map[string]string{
			"doors.md": sectionText, "excluded.md": excluded, "pending.txt": pending,
		}))
		if err != nil {
			if !strings.Contains(err.Error(), ".md:") && !strings.Contains(err.Error(), "pending.txt:") {
				t.Errorf("the error names no place: %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, clause := range c.Clauses {
			switch {
			case !idForm.MatchString(clause.ID), seen[clause.ID]:
				t.Errorf("bad or doubled id %q", clause.ID)
			case clause.Sentence == "", clause.Profile == "", clause.Section != "doors":
				t.Errorf("incomplete: %+v", clause)
			case clause.Level == Must && clause.Source == "":
				t.Errorf("a MUST without a source: %+v", clause)
			case clause.Since < 1 || clause.Since > c.Version:
				t.Errorf("bad version: %+v", clause)
			case !utf8.ValidString(clause.Sentence + clause.Note):
				t.Errorf("not UTF-8: %+v", clause)
			}
			seen[clause.ID] = true
		}
	})
}

func FuzzSuggestion(f *testing.F) {
	f.Add("egress.loopbak")
	f.Add("")
	f.Add("\xff·")
	f.Fuzz(func(t *testing.T, name string) {
		got := suggestion(name, []string{"door.opens", "door.shuts", "gate.opens", "gate.shuts"})
		if strings.Count(got, ",") != 2 {
			t.Errorf("want three names, got %q", got)
		}
	})
}
