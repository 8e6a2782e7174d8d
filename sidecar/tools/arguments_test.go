package tools

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// everyKind is a tool whose arguments nest.
func everyKind() *tool {
	return &tool{name: "t", fields: []field{
		{name: "fields", kind: list, required: true, item: &field{kind: object, fields: []field{
			{name: "type", kind: text, required: true, options: []string{"textbox", "radio"}},
			{name: "on", kind: boolean},
		}}},
		{name: "n", kind: number, least: new(1.0)},
		{name: "target", kind: text, formerly: "ref"},
	}}
}

func TestParseNamesEveryFault(t *testing.T) {
	_, err := parse(everyKind(), json.RawMessage(`{"fields":[{"type":"x"},5,{"on":1}],"n":0,"target":[]}`))
	want := `Invalid arguments for tool "t":
✖ Invalid option: expected one of "textbox"|"radio"
  → at fields[0].type
✖ Invalid input: expected object, received number
  → at fields[1]
✖ Invalid option: expected one of "textbox"|"radio"
  → at fields[2].type
✖ Invalid input: expected boolean, received number
  → at fields[2].on
✖ Too small: expected number to be >=1
  → at n
✖ Invalid input: expected string, received array
  → at target`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestParseTakesOldNamesAndIgnoresUnknownOnes(t *testing.T) {
	args, err := parse(everyKind(), json.RawMessage(`{"fields":[],"ref":"e1","bogus":1}`))
	if err != nil || args.text("target") != "e1" || args.has("bogus") || args.has("n") {
		t.Errorf("%v, %v", args, err)
	}
	if args, _ = parse(everyKind(), json.RawMessage(`{"fields":[],"ref":"e1","target":"e2"}`)); args.text("target") != "e2" {
		t.Errorf("the old name won: %v", args)
	}
}

// FuzzParse holds what is accepted against the schema that tools/list shows.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"fields":[{"type":"radio","on":true}],"n":2}`, `{"fields":[{}]}`, `[]`, `null`, `{"n":1e400}`, `{"fields":[],"n":null}`,
		`{"fields":[],"target":"\ud800"}`, `{"fields":[[[[[]]]]]}`, ``, `{"fields":[],"fields":1}`,
	} {
		f.Add([]byte(seed))
	}
	tool := everyKind()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema(tool.fields))))
	if err != nil {
		f.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("tool.json", document); err != nil {
		f.Fatal(err)
	}
	compiled, err := compiler.Compile("tool.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := parse(tool, raw)
		if err != nil {
			var fault *argumentError
			if !errors.As(err, &fault) || len(fault.issues) == 0 {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		encoded, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%q was accepted against the schema: %v", raw, err)
		}
	})
}
