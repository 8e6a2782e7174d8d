package spec

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	goodReadme  = "# The door contract · version 2\n\nHow to read it.\n"
	goodSection = "# Doors\n\nIds: `door.*` · Profile: core\n\nAbout doors.\n\n## Opening\n\n" +
		"### door.opens\nMUST · core · fast · since 1 · doc §Doors and keys · RFC 9112 §3.2\n\n" +
		"A door opens when it is\nasked to.\n\n> Note: It may\n> creak.\n\n" +
		"### door.stays-shut\nSHOULD · core · long · since 2\n\nA door stays shut for a minute.\n"
	goodExcluded = "# Not testable\n\nWhy.\n\n### door.thought\n\nA door thinks of nothing.\n\n> Reason: Nobody sees it.\n"
)

// folder is a contract's folder; extra files replace the good ones, and an empty one is left out.
func folder(extra map[string]string) fstest.MapFS {
	texts := map[string]string{
		"README.md": goodReadme, "doors.md": goodSection, "excluded.md": goodExcluded,
		"pending.txt": "# not yet\n\ndoor.opens # soon\n", "notes.md": "# Notes\n\nNo clauses here.\n\n### Not an id\n",
	}
	for name, text := range extra {
		texts[name] = text
	}
	files := fstest.MapFS{}
	for name, text := range texts {
		if text != "" {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return files
}

func TestLoadReadsAContract(t *testing.T) {
	got, err := Load("doors", folder(map[string]string{"sub/ignored.md": "no title"}))
	if err != nil {
		t.Fatal(err)
	}
	want := &Contract{
		Name: "doors", Title: "The door contract", Version: 2,
		Clauses: []Clause{
			{
				ID: "door.opens", Section: "doors", Level: Must, Profile: "core",
				Source: "doc §Doors and keys · RFC 9112 §3.2", Since: 1,
				Sentence: "A door opens when it is asked to.", Note: "It may creak.",
			},
			{
				ID: "door.stays-shut", Section: "doors", Level: Should, Profile: "core", Long: true, Since: 2,
				Sentence: "A door stays shut for a minute.",
			},
		},
		Excluded: []Exclusion{{ID: "door.thought", Sentence: "A door thinks of nothing.", Reason: "Nobody sees it."}},
		Pending:  []string{"door.opens"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestLoadNeedsOnlyAReadme(t *testing.T) {
	got, err := Load("doors", folder(map[string]string{
		"doors.md": "", "excluded.md": "", "pending.txt": "", "notes.md": "",
	}))
	if err != nil || len(got.Clauses) != 0 || got.Version != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLoadReadsCarriageReturns(t *testing.T) {
	got, err := Load("doors", folder(map[string]string{"doors.md": strings.ReplaceAll(goodSection, "\n", "\r\n")}))
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := got.Clause("door.opens"); c.Sentence != "A door opens when it is asked to." {
		t.Errorf("got the sentence %q", c.Sentence)
	}
}

func TestLoadIgnoresFences(t *testing.T) {
	text := strings.Replace(goodSection, "About doors.", "```\n### door.example\n\n# a comment\n```", 1)
	got, err := Load("doors", folder(map[string]string{"doors.md": text}))
	if err != nil || len(got.Clauses) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// section is a section file with the given text below the header; it begins on line 5.
func section(text string) string { return "# Doors\n\nIds: `door.*` · Profile: core\n\n" + text }

func TestLoadRefuses(t *testing.T) {
	const facts = "MUST · core · fast · since 1 · invariant"
	for _, test := range []struct {
		name, file, text string
		want             string
	}{
		{"a readme without a version", "README.md", "# The contract\n", `README.md:1: the title "The contract" must end with`},
		{"a readme of version 0", "README.md", "# The contract · version 0\n", "README.md:1: the title"},
		{"a readme without a title", "README.md", "The contract · version 1\n", "README.md:1: the file must begin with"},
		{"a readme with a clause", "README.md", goodReadme + "\n### door.x\n", "README.md:5: the clause door.x stands in a file without"},
		{"an empty file", "doors.md", "\n", "doors.md:1: the file must begin with a heading"},
		{"bytes that are no text", "doors.md", "# Doors\n\xff", "doors.md:1: the file is not valid UTF-8"},
		{"a clause in a document", "notes.md", "# Notes\n\n#### door.x\n", "notes.md:3: the clause door.x stands in a file without"},
		{"a bad header", "doors.md", "# Doors\n\nIds: door · Profile: core\n", "doors.md:3: bad header"},
		{"a header split in two", "doors.md", "# Doors\n\nIds: `door.*` ·\nProfile: Core\n", "doors.md:3: bad header"},
		{"a section without clauses", "doors.md", section("Words.\n"), "doors.md:3: the section has no clause"},
		{"a doubled prefix", "gates.md", "# Gates\n\nIds: `door.*` · Profile: core\n", "gates.md:3: the prefix door is the one of doors.md:3 too"},
		{"a clause of level two", "doors.md", section("## door.x\n"), `doors.md:5: the heading "door.x" has level 2`},
		{"a group of level four", "doors.md", section("#### Words\n"), `doors.md:5: the heading "Words" has level 4`},
		{"a heading without a blank", "doors.md", section("###door.x\n"), `doors.md:5: "###door.x" is no heading`},
		{"an open fence", "doors.md", section("```\n### door.x\n"), "doors.md:5: the fence is never closed"},
		{"a bad id", "doors.md", section("### door.X\n" + facts + "\n\nA.\n"), `doors.md:5: bad id "door.X"`},
		{"an id of one word", "doors.md", section("### door\n" + facts + "\n\nA.\n"), `doors.md:5: bad id "door"`},
		{"another section's id", "doors.md", section("### gate.x\n" + facts + "\n\nA.\n"), "doors.md:5: gate.x does not begin with the section's prefix door."},
		{"a duplicate id", "doors.md", goodSection + "\n### door.opens\n" + facts + "\n\nA.\n", "doors.md:23: duplicate id door.opens: it stands at doors.md:9 too"},
		{"no facts", "doors.md", section("### door.x\n"), "doors.md:5: door.x has no line of facts"},
		{"facts in a quote", "doors.md", section("### door.x\n> " + facts + "\n"), "doors.md:5: door.x has no line of facts"},
		{"too few facts", "doors.md", section("### door.x\nMUST · core\n\nA.\n"), `doors.md:6: bad facts "MUST · core"`},
		{"facts without an empty line", "doors.md", section("### door.x\n" + facts + "\nA.\n"), "doors.md:6: bad facts"},
		{"an unknown level", "doors.md", section("### door.x\nSHALL · core · fast · since 1\n\nA.\n"), `doors.md:6: unknown level "SHALL": want MUST, SHOULD or MAY`},
		{"an unknown time class", "doors.md", section("### door.x\nMAY · core · slow · since 1\n\nA.\n"), `doors.md:6: unknown time class "slow"`},
		{"a bad version", "doors.md", section("### door.x\nMAY · core · fast · 1\n\nA.\n"), `doors.md:6: bad version "1"`},
		{"a version of the future", "doors.md", section("### door.x\nMAY · core · fast · since 3\n\nA.\n"), "doors.md:6: since 3 is later than the contract's version 2"},
		{"an unknown profile", "doors.md", section("### door.x\nMAY · cor · fast · since 1\n\nA.\n"), `doors.md:5: the profile "cor" of door.x is declared by no section`},
		{"a MUST without a source", "doors.md", section("### door.x\nMUST · core · fast · since 1\n\nA.\n"), "doors.md:6: door.x is a MUST without a source"},
		{"a bad source", "doors.md", section("### door.x\nMUST · core · fast · since 1 · RFC 9112\n\nA.\n"), `doors.md:6: bad source "RFC 9112"`},
		{"an empty source", "doors.md", section("### door.x\nMUST · core · fast · since 1 · doc §\n\nA.\n"), `doors.md:6: bad source "doc §"`},
		{"no sentence", "doors.md", section("### door.x\n" + facts + "\n\n> Note: A.\n"), "doors.md:5: door.x has no sentence"},
		{"no sentence at the end", "doors.md", section("### door.x\n" + facts + "\n"), "doors.md:5: door.x has no sentence"},
		{"a list for a sentence", "doors.md", section("### door.x\n" + facts + "\n\n- A.\n"), "doors.md:5: door.x has no sentence"},
		{"a table for a sentence", "doors.md", section("### door.x\n" + facts + "\n\n| a |\n|---|\n"), "doors.md:5: door.x has no sentence"},
		{"two paragraphs", "doors.md", section("### door.x\n" + facts + "\n\nA.\n\nB.\n"), "doors.md:10: unexpected text below door.x"},
		{"two notes", "doors.md", section("### door.x\n" + facts + "\n\nA.\n\n> Note: B.\n\n> Note: C.\n"), "doors.md:12: unexpected text below door.x"},
		{"a fence in a clause", "doors.md", section("### door.x\n" + facts + "\n\nA.\n\n```\n```\n"), "doors.md:10: unexpected text below door.x"},
		{"a quote that is no note", "doors.md", section("### door.x\n" + facts + "\n\nA.\n\n> B.\n"), `doors.md:10: the quote below door.x must begin with "Note: "`},
		{"an exclusion without a reason", "excluded.md", "# No\n\n### door.x\n\nA.\n", "excluded.md:3: door.x needs a sentence and a quote"},
		{"an exclusion with another quote", "excluded.md", "# No\n\n### door.x\n\nA.\n\n> Note: B.\n", "excluded.md:3: door.x needs a sentence and a quote"},
		{"an exclusion without a sentence", "excluded.md", "# No\n\n### door.x\n\n> Reason: B.\n", "excluded.md:3: door.x needs a sentence and a quote"},
		{"an exclusion that is a clause", "excluded.md", "# No\n\n### door.opens\n\nA.\n\n> Reason: B.\n", "excluded.md:3: duplicate id door.opens: it stands at doors.md:9 too"},
		{"an exclusion of no section", "excluded.md", "# No\n\n### gate.x\n\nA.\n\n> Reason: B.\n", "excluded.md:3: no section has ids that begin with gate."},
		{"two ids in a pending line", "pending.txt", "door.opens door.x\n", `pending.txt:1: bad id "door.opens door.x"`},
		{"a repeated pending id", "pending.txt", "door.opens\n\ndoor.opens\n", "pending.txt:3: door.opens is listed twice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Load("doors", folder(map[string]string{test.file: test.text}))
			if err == nil {
				t.Fatalf("no error, got %+v", got)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s…", err, test.want)
			}
			if !strings.HasPrefix(err.Error(), "the contract doors: ") {
				t.Errorf("the error does not name the contract: %v", err)
			}
		})
	}
}

func TestLoadNamesAMissingReadme(t *testing.T) {
	_, err := Load("doors", folder(map[string]string{"README.md": ""}))
	if err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("got %v", err)
	}
}

func TestLoadReportsEveryFault(t *testing.T) {
	_, err := Load("doors", folder(map[string]string{
		"doors.md": section("### door.x\nSHALL · core · slow · since 0\n\nA.\n\n### door.Y\n"), "pending.txt": "?\n",
	}))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"unknown level", "unknown time class", "bad version", `bad id "door.Y"`, `bad id "?"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}
