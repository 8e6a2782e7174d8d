package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/browser-sidecar/conformance/report"
)

// sample has one of everything.
func sample(t *testing.T) *report.Run {
	t.Helper()
	run := unfinished(
		ran("a.pass", report.Must, report.Pass),
		ran("a.fail", report.Must, report.Fail),
		ran("a.warn", report.Should, report.Fail),
		ran("b.flaky", report.Should, report.Flaky),
		ran("b.timeout", report.Must, report.Timeout),
		ran("b.harness", report.Must, report.HarnessError),
		report.NotRun(clause("b.could-not", report.Must), report.CouldNotRun, "no display"),
		report.NotRun(clause("c.foreign", report.Must), report.NotApplicable, "profile live is not claimed"),
		report.Omit(clause("c.pending", report.Must), report.Pending, "no spec yet"),
		report.Omit(clause("c.filtered", report.Must), report.Filtered, "--section a"),
		report.Omit(clause("c.long", report.Must), report.NotLong, "needs --long"),
	)
	run.Evidence = []report.EvidenceFile{{Path: "evidence/a.fail/dns.txt", Bytes: 3, SHA256: strings.Repeat("0a", 32)}}
	if err := run.Finish(started); err != nil {
		t.Fatal(err)
	}
	return run
}

func asJSON(t testing.TB, run *report.Run) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.WriteJSON(&out, run); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestJSONRoundTrip(t *testing.T) {
	text := asJSON(t, sample(t))
	run, err := report.ReadJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again := asJSON(t, run); !bytes.Equal(again, text) {
		t.Errorf("written again it differs:\n%s\n%s", text, again)
	}
	want := sample(t)
	want.Scope.Selection = []string{}
	if !reflect.DeepEqual(run, want) {
		t.Errorf("read back:\n got %+v\nwant %+v", run, want)
	}
}

func TestWriteJSONRefuses(t *testing.T) {
	if err := report.WriteJSON(&bytes.Buffer{}, unfinished()); err == nil || !strings.Contains(err.Error(), "not finished") {
		t.Errorf("an unfinished run: got %v", err)
	}
	run := sample(t)
	run.Target.Identity = ""
	var out bytes.Buffer
	err := report.WriteJSON(&out, run)
	if err == nil || !strings.Contains(err.Error(), "/target/identity") || out.Len() > 0 {
		t.Errorf("a run without a target: got %v and %d bytes", err, out.Len())
	}
	if err := report.WriteJSON(brokenWriter{}, sample(t)); !errors.Is(err, errBroken) {
		t.Errorf("a broken writer: got %v", err)
	}
}

var errBroken = errors.New("disk full")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// edit changes one value of the sample's JSON, by its path; nil removes it.
func edit(t *testing.T, value any, path ...any) []byte {
	t.Helper()
	var document any
	if err := json.Unmarshal(asJSON(t, sample(t)), &document); err != nil {
		t.Fatal(err)
	}
	at := document
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	object, name := at.(map[string]any), path[len(path)-1].(string)
	if value == nil {
		delete(object, name)
	} else {
		object[name] = value
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestReadJSONRefusesBrokenReports(t *testing.T) {
	for _, row := range []struct {
		name string
		text []byte
		want string
	}{
		{"empty", nil, "not JSON"},
		{"cut off", asJSON(t, sample(t))[:200], "not JSON"},
		{"two documents", append(asJSON(t, sample(t)), "{}"...), "not JSON"},
		{"another type", []byte(`[]`), "want object"},
		{"another version", edit(t, 2, "schema_version"), "/schema_version"},
		{"an unknown member", edit(t, 1, "extra"), "additional properties 'extra' not allowed"},
		{"no verdict", edit(t, nil, "verdict"), "missing property 'verdict'"},
		{"an unknown outcome", edit(t, "OK", "clauses", 0, "outcome"), "/clauses/0/outcome"},
		{"an outcome and an omission", edit(t, "long", "clauses", 0, "omitted"), "/clauses/0"},
		{"neither", edit(t, nil, "clauses", 0, "outcome"), "/clauses/0"},
		{"an unknown omission", edit(t, "later", "clauses", 8, "omitted"), "/clauses/8/omitted"},
		{"an unknown level", edit(t, "SHALL", "clauses", 0, "level"), "/clauses/0/level"},
		{"a negative duration", edit(t, -1, "clauses", 0, "duration_ms"), "/clauses/0/duration_ms"},
		{"a date that is none", edit(t, "yesterday", "started"), "/started"},
		{"evidence outside", edit(t, "../x", "evidence", 0, "path"), "/evidence/0/path"},
		{"absolute evidence", edit(t, "/x", "evidence", 0, "path"), "/evidence/0/path"},
		{"a digest that is none", edit(t, "xyz", "evidence", 0, "sha256"), "/evidence/0/sha256"},
		{"a better verdict", edit(t, "conformant", "verdict", "value"), "its clauses give"},
		{"a better text", edit(t, "conformant for all", "verdict", "text"), "its verdict is \"conformant for all\""},
		{"a better count", edit(t, 11, "counts", "executed"), "its counts: stated"},
		{"a wider scope", edit(t, true, "scope", "complete"), "its scope: stated"},
		{"a mended clause", edit(t, "PASS", "clauses", 1, "outcome"), "its clauses give"},
		{"a clause twice", edit(t, "a.fail", "clauses", 0, "id"), "a.fail is there twice"},
		{"a fraction as seed", edit(t, 1.5, "seed"), "/seed"},
	} {
		_, err := report.ReadJSON(bytes.NewReader(row.text))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: want an error with %q, got %v", row.name, row.want, err)
		}
	}
}

func TestReadJSONNamesOnlyTheFirstFaults(t *testing.T) {
	_, err := report.ReadJSON(strings.NewReader(`{}`))
	if err == nil || strings.Count(err.Error(), "\n") > 0 || len(err.Error()) > 1000 {
		t.Errorf("got %v", err)
	}
}

func TestSchemaIsPublished(t *testing.T) {
	var schema struct {
		Schema string `json:"$schema"`
		ID     string `json:"$id"`
	}
	if err := json.Unmarshal(report.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(schema.Schema, "2020-12") || schema.ID == "" {
		t.Errorf("got %+v", schema)
	}
}

func FuzzReadJSON(f *testing.F) {
	run := unfinished(ran("a.pass", report.Must, report.Pass), ran("a.fail", report.Must, report.Fail))
	if err := run.Finish(started); err != nil {
		f.Fatal(err)
	}
	f.Add(asJSON(f, run))
	f.Add([]byte(`{"schema_version":1}`))
	f.Add([]byte(`{"clauses":[{"outcome":"PASS","duration_ms":1e400}]}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		run, err := report.ReadJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		// What is accepted can be written and read again, to the same.
		written := asJSON(t, run)
		again, err := report.ReadJSON(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("accepted, but not what was written from it: %v\n%s", err, written)
		}
		if again.Verdict != run.Verdict {
			t.Fatalf("the verdict changed from %+v to %+v", run.Verdict, again.Verdict)
		}
	})
}
