package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// kind is the JSON type of an argument.
type kind string

const (
	text    kind = "string"
	number  kind = "number"
	boolean kind = "boolean"
	list    kind = "array"
	object  kind = "object"
)

// field describes one argument: for the schema that tools/list shows, and for the check of what comes in.
type field struct {
	name        string
	description string
	kind        kind
	required    bool
	options     []string // of a text; nil for any
	least       *float64 // of a number
	item        *field   // of a list
	fields      []field  // of an object
	formerly    string   // an older name, which is taken too
}

// arguments are what a call brought, checked: a field that is there has its type. Numbers are float64.
type arguments map[string]any

func (a arguments) text(name string) string    { v, _ := a[name].(string); return v }
func (a arguments) boolean(name string) bool   { v, _ := a[name].(bool); return v }
func (a arguments) has(name string) bool       { _, ok := a[name]; return ok }
func (a arguments) number(name string) float64 { v, _ := a[name].(float64); return v }

func (a arguments) texts(name string) []string {
	items, _ := a[name].([]any)
	list := make([]string, 0, len(items))
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// argumentError lists everything that is wrong with a call's arguments.
type argumentError struct {
	tool   string
	issues []string
}

func (e *argumentError) Error() string {
	return fmt.Sprintf("Invalid arguments for tool %q:\n%s", e.tool, strings.Join(e.issues, "\n"))
}

// parse reads and checks raw, a JSON object or nothing. Members that no field names are ignored, as upstream does.
func parse(t *tool, raw json.RawMessage) (arguments, error) {
	given := map[string]any{}
	if len(raw) > 0 {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, &argumentError{tool: t.name, issues: []string{"✖ Invalid input: expected object, received text that is not JSON"}}
		}
		var ok bool
		if given, ok = value.(map[string]any); !ok {
			return nil, &argumentError{tool: t.name, issues: []string{"✖ Invalid input: expected object, received " + received(value)}}
		}
	}
	var issues []string
	checked := checkObject(t.fields, given, "", &issues)
	if len(issues) > 0 {
		return nil, &argumentError{tool: t.name, issues: issues}
	}
	return checked, nil
}

func checkObject(fields []field, given map[string]any, path string, issues *[]string) arguments {
	checked := arguments{}
	for _, f := range fields {
		at := f.name
		if path != "" {
			at = path + "." + f.name
		}
		value, there := given[f.name]
		if !there && f.formerly != "" {
			value, there = given[f.formerly]
		}
		if !there && !f.required {
			continue
		}
		if !there {
			value = undefined{}
		}
		checked[f.name] = check(f, value, at, issues)
	}
	return checked
}

// undefined is the value of what isn't there.
type undefined struct{}

func check(f field, value any, at string, issues *[]string) any {
	wrong := func(message string) { *issues = append(*issues, "✖ "+message+"\n  → at "+at) }
	if f.options != nil {
		if s, ok := value.(string); !ok || !slices.Contains(f.options, s) {
			wrong("Invalid option: expected one of " + alternatives(f.options))
		}
		return value
	}
	switch v := value.(type) {
	case string:
		if f.kind == text {
			return v
		}
	case bool:
		if f.kind == boolean {
			return v
		}
	case float64:
		if f.kind == number {
			if f.least != nil && v < *f.least {
				wrong("Too small: expected number to be >=" + strconv.FormatFloat(*f.least, 'f', -1, 64))
			}
			if math.IsInf(v, 0) {
				wrong("Invalid input: expected number, received number out of range")
			}
			return v
		}
	case []any:
		if f.kind == list {
			for i, item := range v {
				v[i] = check(*f.item, item, at+"["+strconv.Itoa(i)+"]", issues)
			}
			return v
		}
	case map[string]any:
		if f.kind == object {
			return checkObject(f.fields, v, at, issues)
		}
	}
	wrong(fmt.Sprintf("Invalid input: expected %s, received %s", f.kind, received(value)))
	return nil
}

func received(value any) string {
	switch value.(type) {
	case undefined:
		return "undefined"
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func alternatives(options []string) string {
	quoted := make([]string, len(options))
	for i, o := range options {
		quoted[i] = strconv.Quote(o)
	}
	return strings.Join(quoted, "|")
}

// schema is the JSON Schema (draft 2020-12) of an object with the fields.
func schema(fields []field) json.RawMessage {
	root := objectSchema(fields)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	encoded, err := json.Marshal(root)
	if err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	return encoded
}

func objectSchema(fields []field) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, f := range fields {
		properties[f.name] = fieldSchema(f)
		if f.required {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func fieldSchema(f field) map[string]any {
	s := map[string]any{}
	if f.kind == object {
		s = objectSchema(f.fields)
	}
	s["type"] = string(f.kind)
	if f.description != "" {
		s["description"] = f.description
	}
	if f.options != nil {
		s["enum"] = f.options
	}
	if f.least != nil {
		s["minimum"] = *f.least
	}
	if f.item != nil {
		s["items"] = fieldSchema(*f.item)
	}
	return s
}
