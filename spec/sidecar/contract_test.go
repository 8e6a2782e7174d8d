package sidecar

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func contract(t *testing.T) *spec.Contract {
	t.Helper()
	c, err := Contract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// words reads a file of one word a line.
func words(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(path.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// The ids that the contract's first draft had: none may be dropped. "x.*" stands for one or more ids that begin so.
func TestEveryRowBecameAClause(t *testing.T) {
	c := contract(t)
	for _, row := range words(t, "rows.txt") {
		if stem, family := strings.CutSuffix(row, ".*"); family {
			if !slices.ContainsFunc(c.Clauses, func(clause spec.Clause) bool { return strings.HasPrefix(clause.ID, stem+"-") }) {
				t.Errorf("no clause begins with %s-", stem)
			}
			continue
		}
		if _, ok := c.Clause(row); !ok {
			t.Errorf("the clause %s is missing", row)
		}
	}
}

func TestEverySourceIsAHeadingOfTheDocument(t *testing.T) {
	headings := words(t, "headings.txt")
	for _, clause := range contract(t).Clauses {
		for _, source := range strings.Split(clause.Source, " · ") {
			if heading, ok := strings.CutPrefix(source, "doc §"); ok && !slices.Contains(headings, heading) {
				t.Errorf("%s cites the unknown heading %q", clause.ID, heading)
			}
		}
	}
}

func TestPendingNamesOnlyClauses(t *testing.T) {
	c := contract(t)
	for _, id := range c.Pending {
		if _, ok := c.Clause(id); !ok {
			t.Errorf("pending.txt lists the unknown clause %s", id)
		}
	}
}

// A sentence is read alone, in a failure or a list, so it must not lean on the one before it.
func TestEverySentenceStandsAlone(t *testing.T) {
	whole := regexp.MustCompile("^[A-Z0-9`].*\\.$")
	leaning := regexp.MustCompile(`^(The same|Nor|So|It|They|This|These|Also|Likewise) `)
	for _, clause := range contract(t).Clauses {
		if !whole.MatchString(clause.Sentence) || leaning.MatchString(clause.Sentence) {
			t.Errorf("%s is no sentence of its own: %s", clause.ID, clause.Sentence)
		}
	}
}

// The texts link only to files of the contract, and name only clauses that it has.
func TestEveryReferenceLeadsSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([A-Za-z]+\.[a-z]+)\)`)
	name := regexp.MustCompile("`([a-z]+)\\.[a-z0-9-]+`")
	// Keys of the configuration are written with their object, so that some look like clauses.
	keys := []string{"recording.url", "recording.token", "live.origins"}
	c := contract(t)
	prefixes := map[string]bool{}
	for _, clause := range c.Clauses {
		prefix, _, _ := strings.Cut(clause.ID, ".")
		prefixes[prefix] = true
	}
	documents, err := fs.Glob(files, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		text, err := fs.ReadFile(files, document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := fs.Stat(files, found[1]); err != nil {
				t.Errorf("%s has a dead link: %v", document, err)
			}
		}
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			id := strings.Trim(found[0], "`")
			if _, ok := c.Clause(id); !ok && prefixes[found[1]] && !slices.Contains(keys, id) {
				t.Errorf("%s names the unknown clause %s", document, id)
			}
		}
	}
}
