package ingest

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// MaxNesting is how deep a post may nest, the outermost object counted (contract, recording.nesting).
const MaxNesting = 512

// maxFaults bounds what is said about one body.
const maxFaults = 20

// The kinds of events.
const (
	KindRRWeb   = "rrweb"
	KindConsole = "console"
	KindMarker  = "marker"
)

// Event is one recorded event.
type Event struct {
	// Kind is rrweb, console or marker.
	Kind string `json:"kind"`
	// Timestamp is in milliseconds since the epoch.
	Timestamp float64 `json:"timestamp"`
	// Data is the event's own JSON object, as it came.
	Data json.RawMessage `json:"data"`
	// Tab is the page that data names, counted from 1; 0 when it names none.
	Tab int `json:"-"`
	// Post is the sequence number of the post that brought the event.
	Post int `json:"-"`
}

// Body is a post's body.
type Body struct {
	// SentAt is in milliseconds since the epoch, by the sender's clock.
	SentAt float64
	Events []Event
}

// Fault is one way in which a body breaks the contract.
type Fault struct {
	Rule   Rule
	Detail string
}

// Parse reads an inflated body and lists what is wrong with it: text that is not UTF-8, lone surrogates, JSON that is none
// or nests too deep, and members that are missing or of another type. Of a body with a fault it returns what could be read.
func Parse(text []byte) (Body, []Fault) {
	if !utf8.Valid(text) {
		return Body{}, []Fault{{RuleText, "the body is not UTF-8"}}
	}
	// The depth comes first: a JSON decoder has limits of its own.
	shape := scan(text)
	if shape.depth > MaxNesting {
		return Body{}, []Fault{{RuleNesting, fmt.Sprintf("the body nests %d deep, at most %d are allowed", shape.depth, MaxNesting)}}
	}
	// A map takes names as they are written; a struct would take "Sent_At" too.
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(text, &outer); err != nil || outer == nil {
		return Body{}, []Fault{{RuleShape, fmt.Sprintf("the body is %s: want one JSON object", brief(text))}}
	}
	var f faults
	if shape.lone >= 0 {
		f.add(RuleText, "a lone surrogate at byte %d", shape.lone)
	}
	body := Body{SentAt: f.number("sent_at", outer["sent_at"])}
	var events []json.RawMessage
	if err := json.Unmarshal(orNull(outer["recording_events"]), &events); err != nil || len(events) == 0 {
		f.add(RuleShape, "recording_events is %s: want a list of events", brief(outer["recording_events"]))
	}
	for i, text := range events {
		if e, ok := f.event(fmt.Sprintf("recording_events[%d]", i), text); ok {
			body.Events = append(body.Events, e)
		}
	}
	return body, f
}

// faults collects what is wrong, up to a bound.
type faults []Fault

func (f *faults) add(rule Rule, format string, args ...any) {
	if len(*f) < maxFaults {
		*f = append(*f, Fault{rule, fmt.Sprintf(format, args...)})
	}
}

// event reads one event. One that has faults is kept as far as its outer form is right, since a spec may want to see it.
func (f *faults) event(place string, text json.RawMessage) (Event, bool) {
	var outer, data map[string]json.RawMessage
	if err := json.Unmarshal(text, &outer); err != nil || outer == nil {
		f.add(RuleShape, "%s is %s: want an object", place, brief(text))
		return Event{}, false
	}
	e := Event{
		Kind:      f.text(place+".kind", outer["kind"]),
		Timestamp: f.number(place+".timestamp", outer["timestamp"]),
		Data:      outer["data"],
	}
	if err := json.Unmarshal(orNull(e.Data), &data); err != nil || data == nil {
		f.add(RuleShape, "%s.data is %s: want an object", place, brief(e.Data))
		return e, true
	}
	e.Tab = f.tab(place+".data.tab", data["tab"])
	f.data(place+".data", &e, data)
	return e, true
}

// data holds an event's data against its kind.
func (f *faults) data(place string, e *Event, members map[string]json.RawMessage) {
	switch e.Kind {
	case KindRRWeb:
		if n := f.number(place+".type", members["type"]); n != math.Trunc(n) || n < 0 {
			f.add(RuleShape, "%s.type is %v: want a whole number from 0", place, n)
		}
		f.number(place+".timestamp", members["timestamp"])
		if e.Tab == 0 {
			f.add(RuleShape, "%s.tab is missing: an rrweb event names its page", place)
		}
	case KindConsole:
		if level := f.text(place+".level", members["level"]); level != "error" && level != "warning" {
			f.add(RuleShape, "%s.level is %q: want error or warning", place, level)
		}
		f.text(place+".text", members["text"])
	case KindMarker:
		if f.text(place+".label", members["label"]) == "" {
			f.add(RuleShape, "%s.label is empty", place)
		}
	default:
		f.add(RuleShape, "%s: the kind %q is not known: want rrweb, console or marker", place, e.Kind)
	}
}

func (f *faults) number(place string, text json.RawMessage) float64 {
	var n *float64
	if err := json.Unmarshal(orNull(text), &n); err != nil || n == nil {
		f.add(RuleShape, "%s is %s: want a number", place, brief(text))
		return 0
	}
	return *n
}

func (f *faults) text(place string, text json.RawMessage) string {
	var s *string
	if err := json.Unmarshal(orNull(text), &s); err != nil || s == nil {
		f.add(RuleShape, "%s is %s: want a string", place, brief(text))
		return ""
	}
	return *s
}

// tab may be null or missing where the page is not known.
func (f *faults) tab(place string, text json.RawMessage) int {
	var n *int
	if err := json.Unmarshal(orNull(text), &n); err != nil || n != nil && *n < 1 {
		f.add(RuleShape, "%s is %s: want a whole number from 1, or null", place, brief(text))
		return 0
	}
	if n == nil {
		return 0
	}
	return *n
}

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}

// brief shows the start of a value.
func brief(text json.RawMessage) string {
	const most = 40
	if len(text) == 0 {
		return "missing"
	}
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
