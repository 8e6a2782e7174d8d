package mutants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/browser-sidecar/conformance/mutants"
	contract "github.com/browser-sidecar/conformance/spec/sidecar"
)

const patch = `Clause: a.b
Breaks: the greeting

diff --git a/greet.txt b/greet.txt
--- a/greet.txt
+++ b/greet.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
`

func TestOverlayReplacesTheChangedFile(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	original := filepath.Join(root, "greet.txt")
	if err := os.WriteFile(original, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := mutants.Parse("greeting", []byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := m.Overlay(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(replaced[original])
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "one\n2\nthree\n" {
		t.Errorf("got %q", got)
	}
}

func TestOverlayRefusesAPatchThatNoLongerApplies(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "greet.txt"), []byte("one\ntoo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := mutants.Parse("greeting", []byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Overlay(root, t.TempDir()); err == nil || !strings.Contains(err.Error(), "greeting no longer applies to greet.txt") {
		t.Errorf("want an error that names the mutant and the file, got %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	_, body, _ := strings.Cut(patch, "diff")
	for name, c := range map[string]struct{ change, with, want string }{
		"no clause":     {"Clause: a.b\n", "", "Clause"},
		"no reason":     {"Breaks: the greeting\n", "", "Breaks"},
		"no change":     {"diff" + body, "", "changes no file"},
		"a broken hunk": {"@@ -1,3 +1,3 @@", "@@ -1,9 +1,3 @@", "parsing"},
		"a new file":    {"--- a/greet.txt\n", "new file mode 100644\n--- /dev/null\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mutants.Parse("m", []byte(strings.Replace(patch, c.change, c.with, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

func TestLoadNamesTheBrokenPatch(t *testing.T) {
	_, err := mutants.Load(fstest.MapFS{"good.patch": {Data: []byte(patch)}, "odd.patch": {Data: []byte("nothing")}})
	if err == nil || !strings.Contains(err.Error(), "odd.patch") {
		t.Errorf("want an error that names odd.patch, got %v", err)
	}
}

// Every patch of the repository must apply, name a clause that has a spec, and leave no such MUST clause without a mutant.
func TestTheRepositorysMutants(t *testing.T) {
	all, err := mutants.Load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	c, err := contract.Contract()
	if err != nil {
		t.Fatal(err)
	}
	pending := make(map[string]bool)
	for _, id := range c.Pending {
		pending[id] = true
	}
	broken := make(map[string]bool)
	for _, m := range all {
		if _, ok := c.Clause(m.Clause); !ok || pending[m.Clause] {
			t.Errorf("the mutant %s names %s, which is no clause with a spec", m.Name, m.Clause)
		}
		if _, err := m.Overlay("..", t.TempDir()); err != nil {
			t.Error(err)
		}
		broken[m.Clause] = true
	}
	for _, clause := range c.Clauses {
		if clause.Level == "MUST" && !pending[clause.ID] && !broken[clause.ID] {
			t.Errorf("the clause %s has a spec and no mutant", clause.ID)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(patch))
	f.Add([]byte("Clause: a\nBreaks: b\ndiff --git a/x b/x\n"))
	f.Add([]byte("--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := mutants.Parse("fuzz", text)
		if err == nil && (m.Clause == "" || m.Breaks == "") {
			t.Errorf("a mutant without a head was taken: %q", text)
		}
	})
}
