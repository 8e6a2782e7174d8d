package ingest_test

import (
	"strings"
	"testing"

	"github.com/browser-sidecar/conformance/fakes/ingest"
)

const (
	marker  = `{"kind":"marker","timestamp":1,"data":{"label":"page_opened","tab":1,"url":"http://app.test/"}}`
	console = `{"kind":"console","timestamp":2.5,"data":{"level":"error","text":"no","tab":null}}`
	rrweb   = `{"kind":"rrweb","timestamp":3,"data":{"type":4,"data":{"href":"http://app.test/"},"timestamp":3,"tab":2}}`
)

func TestParse(t *testing.T) {
	got, faults := ingest.Parse([]byte(body(marker, console, rrweb)))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got.SentAt != 1790000000000 || len(got.Events) != 3 {
		t.Fatalf("got %+v", got)
	}
	for i, want := range []struct {
		kind string
		at   float64
		tab  int
	}{{"marker", 1, 1}, {"console", 2.5, 0}, {"rrweb", 3, 2}} {
		if e := got.Events[i]; e.Kind != want.kind || e.Timestamp != want.at || e.Tab != want.tab {
			t.Errorf("event %d: got %+v, want %+v", i, e, want)
		}
	}
	if data := string(got.Events[1].Data); data != `{"level":"error","text":"no","tab":null}` {
		t.Errorf("data %s", data)
	}
}

// nested is a good body that nests to this depth.
func nested(depth int) string {
	const above = 6 // body, list, event, data, and the object and list around the rest
	return body(`{"kind":"rrweb","timestamp":1,"data":{"type":3,"timestamp":1,"tab":1,"data":{"a":[` +
		strings.Repeat("[", depth-above) + strings.Repeat("]", depth-above) + `]}}}`)
}

func TestParseFaults(t *testing.T) {
	for _, row := range []struct {
		name, text string
		rule       ingest.Rule
		want       string
	}{
		{"empty", "", ingest.RuleShape, "missing: want one JSON object"},
		{"not JSON", "{", ingest.RuleShape, "want one JSON object"},
		{"null", "null", ingest.RuleShape, "want one JSON object"},
		{"a list", "[]", ingest.RuleShape, "want one JSON object"},
		{"two values", batch(1) + "{}", ingest.RuleShape, "want one JSON object"},
		{"a byte order mark", "\ufeff" + batch(1), ingest.RuleShape, "want one JSON object"},
		{"not UTF-8", body(marker[:20] + "\xff" + marker[20:]), ingest.RuleText, "not UTF-8"},
		{"a surrogate in UTF-8", body(marker[:20] + "\xed\xa0\x80" + marker[20:]), ingest.RuleText, "not UTF-8"},
		{"a lone high surrogate", body(strings.Replace(console, "no", `a\ud83d b`, 1)), ingest.RuleText, "lone surrogate"},
		{"a lone low surrogate", body(strings.Replace(console, "no", `\ude00`, 1)), ingest.RuleText, "lone surrogate"},
		{"two low surrogates", body(strings.Replace(console, "no", `\ude00\ude00`, 1)), ingest.RuleText, "lone surrogate"},
		{"a letter and a low surrogate", body(strings.Replace(console, "no", `\u0041\ude00`, 1)), ingest.RuleText, "lone surrogate"},
		{"two high surrogates", body(strings.Replace(console, "no", `\ud83d\ud83d\ude00`, 1)), ingest.RuleText, "lone surrogate"},
		{"a lone surrogate in a name", body(strings.Replace(console, `"tab"`, `"\udead":1,"tab"`, 1)), ingest.RuleText, "lone surrogate"},
		{"too deep", nested(ingest.MaxNesting + 1), ingest.RuleNesting, "nests 513 deep"},
		{"far too deep", strings.Repeat("[", 1_000_000), ingest.RuleNesting, "nests 1000000 deep"},
		{"no sent_at", `{"recording_events":[` + marker + `]}`, ingest.RuleShape, "sent_at is missing: want a number"},
		{"sent_at as text", strings.Replace(batch(1), "1790000000000", `"now"`, 1), ingest.RuleShape, `sent_at is "now"`},
		{"another case", strings.Replace(batch(1), "sent_at", "Sent_At", 1), ingest.RuleShape, "sent_at is missing"},
		{"no events", `{"sent_at":1}`, ingest.RuleShape, "recording_events is missing"},
		{"an empty list", body(), ingest.RuleShape, "recording_events is []"},
		{"an object as list", `{"sent_at":1,"recording_events":{}}`, ingest.RuleShape, "recording_events is {}"},
		{"an event that is none", body("7"), ingest.RuleShape, "recording_events[0] is 7"},
		{"a null event", body(marker, "null"), ingest.RuleShape, "recording_events[1] is null"},
		{"no kind", body(`{"timestamp":1,"data":{}}`), ingest.RuleShape, "recording_events[0].kind is missing"},
		{"another kind", body(`{"kind":"video","timestamp":1,"data":{}}`), ingest.RuleShape, `the kind "video" is not known`},
		{"no timestamp", body(strings.Replace(marker, `"timestamp":1,`, "", 1)), ingest.RuleShape, "[0].timestamp is missing"},
		{"an infinite timestamp", body(strings.Replace(marker, `"timestamp":1,`, `"timestamp":1e999,`, 1)), ingest.RuleShape, "[0].timestamp is 1e999"},
		{"no data", body(`{"kind":"marker","timestamp":1}`), ingest.RuleShape, "data is missing: want an object"},
		{"data as text", body(`{"kind":"marker","timestamp":1,"data":"x"}`), ingest.RuleShape, `data is "x"`},
		{"no label", body(strings.Replace(marker, "label", "name", 1)), ingest.RuleShape, "label is missing"},
		{"another level", body(strings.Replace(console, `"error"`, `"info"`, 1)), ingest.RuleShape, `level is "info"`},
		{"no text", body(strings.Replace(console, `"text"`, `"message"`, 1)), ingest.RuleShape, "text is missing"},
		{"a type that is none", body(strings.Replace(rrweb, `"type":4`, `"type":"x"`, 1)), ingest.RuleShape, `type is "x"`},
		{"half a type", body(strings.Replace(rrweb, `"type":4`, `"type":0.5`, 1)), ingest.RuleShape, "type is 0.5"},
		{"no page", body(strings.Replace(rrweb, `,"tab":2`, "", 1)), ingest.RuleShape, "tab is missing"},
		{"page 0", body(strings.Replace(rrweb, `"tab":2`, `"tab":0`, 1)), ingest.RuleShape, "tab is 0"},
	} {
		_, faults := ingest.Parse([]byte(row.text))
		if len(faults) == 0 || faults[0].Rule != row.rule || !strings.Contains(faults[0].Detail, row.want) {
			t.Errorf("%s: want %s with %q, got %v", row.name, row.rule, row.want, faults)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for name, text := range map[string]string{
		"nesting at the bound":   nested(ingest.MaxNesting),
		"a pair of surrogates":   body(strings.Replace(console, "no", `\ud83d\ude00`, 1)),
		"an escaped backslash":   body(strings.Replace(console, "no", `\\ud83d`, 1)),
		"brackets in a string":   body(strings.Replace(console, "no", strings.Repeat("[{", 600), 1)),
		"a quote in a string":    body(strings.Replace(console, "no", `\"[[`, 1)),
		"members of its own":     body(strings.Replace(marker, `"label"`, `"user":{"id":null},"label"`, 1)),
		"white space at the end": batch(1) + "\n",
	} {
		if _, faults := ingest.Parse([]byte(text)); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

func TestParseBoundsItsFaults(t *testing.T) {
	_, faults := ingest.Parse([]byte(body(strings.Split(strings.Repeat("7,", 500)+"7", ",")...)))
	if len(faults) != 20 {
		t.Errorf("%d faults, want 20", len(faults))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(body(marker, console, rrweb)))
	f.Add([]byte(nested(20)))
	f.Add([]byte(`{"sent_at":1,"recording_events":[{"kind":"rrweb","timestamp":null,"data":[]}]}`))
	f.Add([]byte(`"\ud83d\ude00\ud83d"`))
	f.Add([]byte(`"\u12`))
	f.Add([]byte("]]]]{[\"\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, faults := ingest.Parse(text)
		if len(faults) == 0 && len(got.Events) == 0 {
			t.Fatal("a body without events has no fault")
		}
		for _, e := range got.Events {
			if len(faults) == 0 && e.Kind == "" {
				t.Fatalf("an event without a kind has no fault: %+v", e)
			}
		}
	})
}
