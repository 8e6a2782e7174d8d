package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed schema/report-v1.schema.json
var schemaText []byte

// maxReport bounds what is read: a report of a thousand clauses is about a megabyte.
const maxReport = 64 << 20

// Schema is the published JSON Schema (draft 2020-12) of the report.
func Schema() []byte { return bytes.Clone(schemaText) }

// WriteJSON writes a finished run as indented JSON. What would break the schema (an empty target identity, for example) is
// an error, and nothing is written.
func WriteJSON(w io.Writer, r *Run) error {
	if r.Verdict.Value == "" {
		return errors.New("writing the JSON report: the run is not finished")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r.filled()); err != nil {
		return fmt.Errorf("writing the JSON report: %w", err)
	}
	if err := validate(text.Bytes()); err != nil {
		return fmt.Errorf("writing the JSON report: %w", err)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("writing the JSON report: %w", err)
	}
	return nil
}

// filled is a copy without nil lists, which the schema wants as empty ones.
func (r *Run) filled() *Run {
	run := *r
	run.Options = nonNil(run.Options)
	run.Profiles = nonNil(run.Profiles)
	run.Scope.Selection = nonNil(run.Scope.Selection)
	run.Clauses = nonNil(run.Clauses)
	run.Evidence = nonNil(run.Evidence)
	return &run
}

func nonNil[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

// ReadJSON reads a report back. It refuses whatever the schema doesn't allow, and a report whose counts, scope or verdict
// don't follow from its own clauses; the error names the place and the fault.
func ReadJSON(rd io.Reader) (*Run, error) {
	text, err := io.ReadAll(io.LimitReader(rd, maxReport+1))
	if err != nil {
		return nil, fmt.Errorf("reading the JSON report: %w", err)
	}
	if len(text) > maxReport {
		return nil, fmt.Errorf("reading the JSON report: it is over %d bytes", maxReport)
	}
	if err := validate(text); err != nil {
		return nil, fmt.Errorf("reading the JSON report: %w", err)
	}
	var run Run
	if err := json.Unmarshal(text, &run); err != nil {
		return nil, fmt.Errorf("reading the JSON report: %w", err)
	}
	if err := run.recheck(); err != nil {
		return nil, fmt.Errorf("reading the JSON report: %w", err)
	}
	return &run, nil
}

// recheck computes everything anew and compares, so that no edited verdict passes.
func (r *Run) recheck() error {
	computed := *r
	if err := computed.compute(); err != nil {
		return err
	}
	if r.Verdict != computed.Verdict {
		return fmt.Errorf("its verdict is %q, but its clauses give %q", r.Verdict.Text, computed.Verdict.Text)
	}
	for _, part := range []struct {
		name           string
		stated, proper any
	}{
		{"counts", r.Counts, computed.Counts},
		{"scope", r.Scope, computed.Scope},
	} {
		stated, err := json.Marshal(part.stated)
		if err != nil {
			return fmt.Errorf("its %s: %w", part.name, err)
		}
		proper, err := json.Marshal(part.proper)
		if err != nil {
			return fmt.Errorf("its %s: %w", part.name, err)
		}
		if !bytes.Equal(stated, proper) {
			return fmt.Errorf("its %s: stated %s, but its clauses give %s", part.name, stated, proper)
		}
	}
	return nil
}

// validate holds text against the published schema.
func validate(text []byte) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	schema, err := compileSchema()
	if err != nil {
		return err
	}
	err = schema.Validate(document)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return fmt.Errorf("it breaks the schema: %s", strings.Join(faults(invalid), "; "))
	}
	return err
}

func compileSchema() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		return nil, fmt.Errorf("reading the report's schema: %w", err)
	}
	const name = "report-v1.schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("reading the report's schema: %w", err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compiling the report's schema: %w", err)
	}
	return schema, nil
}

// faults flattens the validator's tree to "place: fault" lines, the first few of them.
func faults(root *jsonschema.ValidationError) []string {
	const most = 5
	printer := message.NewPrinter(language.English)
	var lines []string
	left := 0
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		if len(lines) == most {
			left++
			return
		}
		place := "/" + strings.Join(e.InstanceLocation, "/")
		lines = append(lines, place+": "+e.ErrorKind.LocalizedString(printer))
	}
	walk(root)
	if left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	return lines
}
