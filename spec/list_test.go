package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func listing() ([]Clause, map[string][]string) {
	clauses := []Clause{
		{ID: "door.opens", Section: "doors", Level: Must, Profile: "core", Source: "doc §Türen", Since: 1, Sentence: "It <opens>."},
		{ID: "door.stays-shut", Section: "doors", Level: Should, Profile: "core", Long: true, Since: 1, Sentence: "It stays shut."},
		{ID: "gate.creaks", Section: "gates", Level: May, Profile: "yard", Source: "invariant", Since: 1, Sentence: "It creaks."},
	}
	return clauses, map[string][]string{"door.opens": {"opens when asked", "opens at night"}, "gate.creaks": {}}
}

func TestListAligns(t *testing.T) {
	clauses, proved := listing()
	var out bytes.Buffer
	if err := List(&out, clauses, proved, false); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"CLAUSE           LEVEL   PROFILE  TIME  SOURCE      PROVED BY",
		"door.opens       MUST    core     fast  doc §Türen  opens when asked",
		"                                                    opens at night",
		"door.stays-shut  SHOULD  core     long  -           pending",
		"gate.creaks      MAY     yard     fast  invariant   pending",
		"",
		"3 clauses: 1 MUST, 1 SHOULD, 1 MAY; 1 with a spec, 2 pending",
		"",
	}, "\n")
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestListAsJSON(t *testing.T) {
	clauses, proved := listing()
	var out bytes.Buffer
	if err := List(&out, clauses, proved, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"It <opens>."`) {
		t.Errorf("the sentence is escaped:\n%s", &out)
	}
	var got []map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0]["id"] != "door.opens" || len(got[0]["specs"].([]any)) != 2 || got[0]["pending"] != nil {
		t.Errorf("got %v", got)
	}
	if specs, ok := got[1]["specs"].([]any); !ok || len(specs) != 0 || got[1]["pending"] != true || got[1]["long"] != true {
		t.Errorf("got %v", got[1])
	}
}

func TestListOfNothingIsAnEmptyArray(t *testing.T) {
	var out bytes.Buffer
	if err := List(&out, nil, nil, true); err != nil || out.String() != "[]\n" {
		t.Errorf("got %q, %v", &out, err)
	}
}

// brokenWriter fails on every write.
type brokenWriter struct{}

var errBroken = errors.New("no space left")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestListReportsAFailedWrite(t *testing.T) {
	clauses, proved := listing()
	for _, asJSON := range []bool{false, true} {
		if err := List(brokenWriter{}, clauses, proved, asJSON); !errors.Is(err, errBroken) {
			t.Errorf("as JSON %v: got %v", asJSON, err)
		}
	}
}
