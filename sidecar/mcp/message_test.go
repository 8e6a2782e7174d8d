package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	nested := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat(`{"a":`, n-1) + `0` + strings.Repeat(`}`, n)
	}
	for name, c := range map[string]struct {
		body string
		code int
		says string
	}{
		"nothing":                   {``, codeParse, "not JSON"},
		"blanks":                    {" \n", codeParse, "not JSON"},
		"half":                      {`{"jsonrpc":"2.0","id":1,"method":"m"`, codeParse, "not JSON"},
		"two values":                {`{"jsonrpc":"2.0","id":1,"method":"m"} {}`, codeParse, "not JSON"},
		"a trailing comma":          {`{"jsonrpc":"2.0","id":1,"method":"m",}`, codeParse, "not JSON"},
		"a byte order mark":         {"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, codeParse, "not JSON"},
		"broken UTF-8":              {`{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, codeParse, "not UTF-8"},
		"a leading zero":            {`{"jsonrpc":"2.0","id":01,"method":"m"}`, codeParse, "not JSON"},
		"nesting without end":       {strings.Repeat("[", 1<<20), codeParse, "not JSON"},
		"a batch":                   {`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, codeInvalidRequest, "one object"},
		"an empty batch":            {`[]`, codeInvalidRequest, "one object"},
		"null":                      {`null`, codeInvalidRequest, "one object"},
		"a number":                  {`7`, codeInvalidRequest, "one object"},
		"a string":                  {`"ping"`, codeInvalidRequest, "one object"},
		"an empty object":           {`{}`, codeInvalidRequest, "jsonrpc must be"},
		"no version":                {`{"id":1,"method":"m"}`, codeInvalidRequest, "jsonrpc must be"},
		"another version":           {`{"jsonrpc":"1.0","id":1,"method":"m"}`, codeInvalidRequest, "jsonrpc must be"},
		"a version in numbers":      {`{"jsonrpc":2.0,"id":1,"method":"m"}`, codeInvalidRequest, "jsonrpc must be"},
		"a version in capitals":     {`{"JSONRPC":"2.0","id":1,"method":"m"}`, codeInvalidRequest, "jsonrpc must be"},
		"a method in capitals":      {`{"jsonrpc":"2.0","id":1,"Method":"m"}`, codeInvalidRequest, "no method"},
		"a method that is null":     {`{"jsonrpc":"2.0","id":1,"method":null}`, codeInvalidRequest, "method must be"},
		"a method that is a number": {`{"jsonrpc":"2.0","id":1,"method":7}`, codeInvalidRequest, "method must be"},
		"an id alone":               {`{"jsonrpc":"2.0","id":1}`, codeInvalidRequest, "no response"},
		"a result without an id":    {`{"jsonrpc":"2.0","result":{}}`, codeInvalidRequest, "no response"},
		"a result and an error":     {`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, codeInvalidRequest, "no response"},
		"a fraction as id":          {`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, codeInvalidRequest, "id must be"},
		"a whole fraction as id":    {`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, codeInvalidRequest, "id must be"},
		"an exponent as id":         {`{"jsonrpc":"2.0","id":1e2,"method":"m"}`, codeInvalidRequest, "id must be"},
		"a boolean as id":           {`{"jsonrpc":"2.0","id":true,"method":"m"}`, codeInvalidRequest, "id must be"},
		"null as id":                {`{"jsonrpc":"2.0","id":null,"method":"m"}`, codeInvalidRequest, "id must be"},
		"an object as id":           {`{"jsonrpc":"2.0","id":{"a":1},"method":"m"}`, codeInvalidRequest, "id must be"},
		"an array as id":            {`{"jsonrpc":"2.0","id":[1],"method":"m"}`, codeInvalidRequest, "id must be"},
		"two methods":               {`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, codeInvalidRequest, `"method" and "method"`},
		"two ids":                   {`{"jsonrpc":"2.0","id":1,"method":"a","ID":2}`, codeInvalidRequest, `"id" and "ID"`},
		"name and Name":             {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","Name":"b"}}`, codeInvalidRequest, `"name" and "Name"`},
		"Name and name":             {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"Name":"b","name":"a"}}`, codeInvalidRequest, `"Name" and "name"`},
		"url twice":                 {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"url":"a","url":"b"}}}`, codeInvalidRequest, `"url" and "url"`},
		"url twice, once escaped":   {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"url":"a","\u0075rl":"b"}}}`, codeInvalidRequest, `"url" and "url"`},
		"doubled in a list":         {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"l":[1,[{"a":1,"A":2}]]}}`, codeInvalidRequest, `"a" and "A"`},
		"cases beyond ASCII":        {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"k":1,"\u212a":2,"x":3}}`, codeInvalidRequest, `"k" and`},
		"a long s":                  {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"tools":1,"tool\u017f":2}}`, codeInvalidRequest, `"tools" and`},
		"a long doubled name":       {`{"` + strings.Repeat("a", 1<<20) + `":1,"` + strings.Repeat("A", 1<<20) + `":1}`, codeInvalidRequest, `aaa…" and "AAA`},
		"nesting beyond the bound":  {nested(maxDepth + 1), codeInvalidRequest, "nested more than 64 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			m, fault := parse([]byte(c.body))
			if fault == nil {
				t.Fatalf("it was read as %+v", m)
			}
			if fault.Code != c.code || !strings.Contains(fault.Message, c.says) {
				t.Errorf("got %d %q, want %d with %q", fault.Code, fault.Message, c.code, c.says)
			}
			if len(fault.Message) > 300 {
				t.Errorf("a text of %d bytes", len(fault.Message))
			}
		})
	}
	if _, fault := parse([]byte(nested(maxDepth))); fault != nil {
		t.Errorf("nested as deep as is allowed: %v", fault)
	}
}

func TestParseTakes(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want message
	}{
		"a request":                {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}`, message{request, raw(`1`), "m", raw(`{"a":[1]}`)}},
		"any order, blanks":        {" {\"params\":{} ,\n\"method\":\"m\",\"id\" : \"x\" ,\"jsonrpc\":\"2.0\"}\n", message{request, raw(`"x"`), "m", raw(`{}`)}},
		"params that are null":     {`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, message{request, raw(`1`), "m", nil}},
		"an empty method":          {`{"jsonrpc":"2.0","id":1,"method":""}`, message{request, raw(`1`), "", nil}},
		"an unknown member":        {`{"jsonrpc":"2.0","id":1,"method":"m","x":{"jsonrpc":1}}`, message{request, raw(`1`), "m", nil}},
		"one name in two objects":  {`{"jsonrpc":"2.0","id":1,"method":"m","params":[{"a":1},{"A":1},{"a":{"a":1}}]}`, message{request, raw(`1`), "m", raw(`[{"a":1},{"A":1},{"a":{"a":1}}]`)}},
		"a notification":           {`{"jsonrpc":"2.0","method":"n"}`, message{notification, nil, "n", nil}},
		"a response":               {`{"jsonrpc":"2.0","id":1,"result":null}`, message{kind: response}},
		"an error":                 {`{"jsonrpc":"2.0","id":null,"error":{}}`, message{kind: response}},
		"a number beyond float64":  {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":1e999}}`, message{request, raw(`1`), "m", raw(`{"n":1e999}`)}},
		"a lone surrogate":         {`{"jsonrpc":"2.0","id":"\ud800","method":"m"}`, message{request, raw(`"\ud800"`), "m", nil}},
		"an id wider than 64 bits": {`{"jsonrpc":"2.0","id":-123456789012345678901234567890,"method":"m"}`, message{request, raw(`-123456789012345678901234567890`), "m", nil}},
		"an id with escapes":       {`{"jsonrpc":"2.0","id":"\u0041<\/","method":"m"}`, message{request, raw(`"\u0041<\/"`), "m", nil}},
		"an id that looks odd":     {`{"jsonrpc":"2.0","id":"1.5e3","method":"m"}`, message{request, raw(`"1.5e3"`), "m", nil}},
	} {
		t.Run(name, func(t *testing.T) {
			got, fault := parse([]byte(c.body))
			if fault != nil {
				t.Fatal(fault)
			}
			if got.kind != c.want.kind || got.method != c.want.method ||
				!bytes.Equal(got.id, c.want.id) || !bytes.Equal(got.params, c.want.params) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// FuzzParse checks that foreign bytes never panic, that every refusal has a code and a short text, and that what is
// accepted is read alike by a reader that takes names as they are and one that takes them in any case.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		hello, ``, `null`, `[]`, `{}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":"01","method":"tools/call","params":{"name":"a","arguments":{"url":"x","_meta":{}}}}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"a","Name":"b"}}`,
		`{"jsonrpc":"2.0","id":-0,"method":"m","params":{"\u0075rl":1,"url":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"k":1,"\u212a":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1.5,"method":"m"}`,
		`{"jsonrpc":"2.0","id":{"a":[]},"method":"m"}`, `{"jsonrpc":"2.0","id":"\ud800\uffff","method":"\u0000"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, fault := parse(body)
		if fault != nil {
			if fault.Code != codeParse && fault.Code != codeInvalidRequest || fault.Message == "" || len(fault.Message) > 1000 {
				t.Fatalf("a refusal without a form: %+v", fault)
			}
			return
		}
		if (m.kind == request) != (m.id != nil) {
			t.Fatalf("kind %d with the id %q", m.kind, m.id)
		}
		if m.id != nil && (!json.Valid(m.id) || !bytes.Contains(body, m.id)) {
			t.Fatalf("the id %q was not in the body", m.id)
		}
		var anyCase struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  string          `json:"method"`
		}
		if err := json.Unmarshal(body, &anyCase); m.kind == request && (err != nil || anyCase.Version != "2.0" ||
			anyCase.Method != m.method || !bytes.Equal(anyCase.ID, m.id)) {
			t.Fatalf("read as %+v here and as %+v in any case (%v)", m, anyCase, err)
		}
		var tree any
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		if written, distinct := names(body), distinctNames(tree); written != distinct {
			t.Fatalf("%d members are written, %d differ", written, distinct)
		}
	})
}

// names counts the members in a JSON text: outside of strings, each has one colon.
func names(body []byte) (n int) {
	quoted := false
	for i := 0; i < len(body); i++ {
		switch {
		case quoted && body[i] == '\\':
			i++
		case body[i] == '"':
			quoted = !quoted
		case !quoted && body[i] == ':':
			n++
		}
	}
	return n
}

// distinctNames counts the members of a tree that differ in more than case from their neighbours.
func distinctNames(tree any) (n int) {
	switch v := tree.(type) {
	case []any:
		for _, e := range v {
			n += distinctNames(e)
		}
	case map[string]any:
		var earlier []string
	members:
		for name, e := range v {
			n += distinctNames(e)
			for _, other := range earlier {
				if strings.EqualFold(name, other) {
					continue members
				}
			}
			earlier = append(earlier, name)
			n++
		}
	}
	return n
}
