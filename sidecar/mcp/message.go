package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error codes: JSON-RPC 2.0 §5.1, and two of its range for servers.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeServer         = -32000
	codeUnknownSession = -32001
	codeTimeout        = -32001 // the same; its status is 200
)

// rpcError is the error of a JSON-RPC answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

func invalid(format string, args ...any) *rpcError {
	return &rpcError{codeInvalidRequest, fmt.Sprintf(format, args...)}
}

func badParams(text string) *rpcError { return &rpcError{codeInvalidParams, text} }

// kind is what JSON-RPC makes of a message.
type kind int

const (
	request      kind = iota // wants an answer
	notification             // has a method and no id
	response                 // answers a request that we never send
)

// message is one JSON-RPC 2.0 message.
type message struct {
	kind   kind
	id     json.RawMessage // of a request: a string or an integer, byte for byte as it was sent
	method string          // of a request or a notification
	params json.RawMessage // nil where they are missing or null
}

// maxDepth bounds how deep a message's arrays and objects are nested. No tool's arguments come near.
const maxDepth = 64

// parse reads a body as one message. There is one way to read what it accepts: names count as they are written, and no
// object in it has two members whose names are the same or differ only in case.
func parse(body []byte) (message, *rpcError) {
	if !utf8.Valid(body) {
		return message{}, &rpcError{codeParse, "The body is not JSON: it is not UTF-8"}
	}
	if !json.Valid(body) {
		return message{}, &rpcError{codeParse, "The body is not JSON"}
	}
	if err := checkMembers(body); err != nil {
		return message{}, invalid("The body must be one JSON-RPC 2.0 message: %s", err)
	}
	members, ok := object(body)
	if !ok {
		return message{}, invalid("The body must be one JSON-RPC 2.0 message: one object")
	}
	if version, ok := text(members["jsonrpc"]); !ok || version != "2.0" {
		return message{}, invalid(`The body must be one JSON-RPC 2.0 message: jsonrpc must be "2.0"`)
	}
	id, hasID := members["id"]
	method, hasMethod := members["method"]
	if !hasMethod {
		_, result := members["result"]
		_, failure := members["error"]
		if !hasID || result == failure {
			return message{}, invalid("The body must be one JSON-RPC 2.0 message: it has no method, and is no response")
		}
		return message{kind: response}, nil
	}
	m := message{kind: notification, params: members["params"]}
	if m.method, ok = text(method); !ok {
		return message{}, invalid("The body must be one JSON-RPC 2.0 message: method must be a string")
	}
	if isNull(m.params) {
		m.params = nil
	}
	if hasID {
		if !isID(id) {
			return message{}, invalid("The body must be one JSON-RPC 2.0 message: id must be a string or an integer")
		}
		m.kind, m.id = request, id
	}
	return m, nil
}

// isID reports whether a JSON value is a string, or a number without a fraction or an exponent, of any width.
func isID(raw json.RawMessage) bool {
	first := raw[0]
	return first == '"' || (first == '-' || '0' <= first && first <= '9') && !bytes.ContainsAny(raw, ".eE")
}

// checkMembers refuses a JSON text that two readers could read differently (RFC 8259 §4 leaves open which of two equal
// names counts, and some readers, Go's own among them, take names in any case), and one that is nested too deep.
func checkMembers(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return checkValue(d, 0)
}

func checkValue(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	if depth == maxDepth {
		return fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	var seen map[string]string
	if open == '{' {
		seen = make(map[string]string)
	}
	for d.More() {
		if seen != nil {
			if err := checkName(d, seen); err != nil {
				return err
			}
		}
		if err := checkValue(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func checkName(d *json.Decoder, seen map[string]string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	name, ok := token.(string)
	if !ok {
		return errors.New("a member has no name")
	}
	folded := fold(name)
	if earlier, twice := seen[folded]; twice {
		return fmt.Errorf("an object has the members %s and %s", quote(earlier), quote(name))
	}
	seen[folded] = name
	return nil
}

// fold gives names that differ only in case the same form, in the way of strings.EqualFold.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}

// quote shows the beginning of a name that a client sent.
func quote(name string) string {
	const most = 40
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", name)
}

// object takes a JSON object apart. Unlike a struct, a map takes names as they are written.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(raw, &members)
	return members, err == nil && members != nil
}

// text is the value of a JSON string.
func text(raw json.RawMessage) (string, bool) {
	var s *string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }
