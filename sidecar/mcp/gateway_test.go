package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMethods(t *testing.T) {
	r := start(t)
	id := r.open()
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE", "post", "X"} {
		got := r.send(t.Context(), method, id, "")
		r.want(got, http.StatusMethodNotAllowed, `{"error":"POST JSON-RPC here"}`)
		if allow := got.header.Get("Allow"); allow != "POST, DELETE" {
			t.Errorf("%s: Allow is %q", method, allow)
		}
	}
}

func TestInitialize(t *testing.T) {
	r := start(t)
	first := r.post("", hello)
	r.want(first, http.StatusOK, `{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{}},`+
		`"protocolVersion":"2025-11-25","serverInfo":{"name":"browser-sidecar","version":"1.2.3"}}}`)
	if len(first.session) < 26 { // 26 characters of base32 hold 128 bits
		t.Errorf("the session id %q is short", first.session)
	}
	again := r.post(first.session, hello)
	if again.status != http.StatusOK || again.session == "" || again.session == first.session {
		t.Errorf("a second initialize got %d and the session %q", again.status, again.session)
	}
	r.want(r.post(first.session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	r.want(r.post(again.session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	unknown := r.post("made-up", hello)
	if unknown.status != http.StatusOK || unknown.session == "" {
		t.Errorf("with an unknown session it got %d %s", unknown.status, unknown.body)
	}
}

func TestInitializeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string
		status     int
	}{
		"as a notification": {
			`{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
			failure("null", "-32600", "initialize must be a request"), http.StatusBadRequest,
		},
		"with the id null": {
			`{"jsonrpc":"2.0","id":null,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
			failure("null", "-32600", "The body must be one JSON-RPC 2.0 message: id must be a string or an integer"), http.StatusBadRequest,
		},
		"without params":            {`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, failure("1", "-32602", "params.protocolVersion must be a string"), http.StatusOK},
		"without a version":         {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"ProtocolVersion":"2025-11-25"}}`, failure("1", "-32602", "params.protocolVersion must be a string"), http.StatusOK},
		"with a version as a list":  {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":[]}}`, failure("1", "-32602", "params.protocolVersion must be a string"), http.StatusOK},
		"with params as an array":   {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":["2025-11-25"]}`, failure("1", "-32602", "params.protocolVersion must be a string"), http.StatusOK},
		"as the member of an array": {"[" + hello + "]", failure("null", "-32600", "The body must be one JSON-RPC 2.0 message: one object"), http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			got := r.post("", c.body)
			r.want(got, c.status, c.want)
			if got.session != "" || len(r.opened) != 0 {
				t.Errorf("it opened the session %q (%d in all)", got.session, len(r.opened))
			}
		})
	}
}

func TestVersionNegotiation(t *testing.T) {
	r := start(t)
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26",
		"2024-11-05": "2025-11-25", "2026-07-28": "2025-11-25", "9999-99-99": "2025-11-25", "": "2025-11-25", "x": "2025-11-25",
	} {
		got := r.post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+asked+`"}}`)
		if !strings.Contains(got.body, `"protocolVersion":"`+want+`"`) {
			t.Errorf("%q was answered %d %s, want %s", asked, got.status, got.body, want)
		}
	}
}

func TestVersionHeader(t *testing.T) {
	r := start(t)
	id := r.open()
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	pong := `{"jsonrpc":"2.0","id":1,"result":{}}`
	r.want(r.post(id, ping, versionHeader, "2025-06-18"), http.StatusOK, pong)
	r.want(r.post(id, ping, versionHeader, "2026-07-28"), http.StatusBadRequest,
		failure("1", "-32600", "Mcp-Protocol-Version must be one of 2025-11-25, 2025-06-18, 2025-03-26"))
	if got := r.post("", hello, versionHeader, "2026-07-28"); got.status != http.StatusOK {
		t.Errorf("initialize was answered %d %s", got.status, got.body)
	}
	for range maxSessions { // the refused message holds its session no longer
		r.open()
	}
	r.want(r.post(id, ping), http.StatusNotFound, failure("1", "-32001", "Session not found"))
}

func TestDiscover(t *testing.T) {
	r := start(t)
	body := `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{"_meta":{}}}`
	r.want(r.post("", body, versionHeader, "2026-07-28"), http.StatusBadRequest, failure(`"d"`, "-32601", "Method not found"))
	r.want(r.post(r.open(), body), http.StatusOK, failure(`"d"`, "-32601", "Method not found"))
}

func TestStatuses(t *testing.T) {
	r := start(t)
	id := r.open()
	wide := "-123456789012345678901234567890"
	for name, c := range map[string]struct {
		session, body string
		status        int
		want          string
	}{
		"not JSON":                {id, `{`, 400, failure("null", "-32700", "The body is not JSON")},
		"not JSON, no session":    {"", `{`, 400, failure("null", "-32700", "The body is not JSON")},
		"a batch":                 {id, "[" + toolCall("1", "echo") + "]", 400, failure("null", "-32600", "The body must be one JSON-RPC 2.0 message: one object")},
		"an empty batch":          {id, `[]`, 400, failure("null", "-32600", "The body must be one JSON-RPC 2.0 message: one object")},
		"an odd id":               {id, toolCall("1.5", "echo"), 400, failure("null", "-32600", "The body must be one JSON-RPC 2.0 message: id must be a string or an integer")},
		"two readings":            {id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`, 400, failure("null", "-32600", `The body must be one JSON-RPC 2.0 message: an object has the members \"name\" and \"Name\"`)},
		"no session":              {"", toolCall("7", "echo"), 400, failure("7", "-32600", "Mcp-Session-Id header is required")},
		"no session, wide id":     {"", toolCall(wide, "echo"), 400, failure(wide, "-32600", "Mcp-Session-Id header is required")},
		"a notification without":  {"", `{"jsonrpc":"2.0","method":"n"}`, 400, failure("null", "-32600", "Mcp-Session-Id header is required")},
		"a response without":      {"", `{"jsonrpc":"2.0","id":1,"result":{}}`, 400, failure("null", "-32600", "Mcp-Session-Id header is required")},
		"an unknown session":      {"made-up", toolCall(`"x"`, "echo"), 404, failure(`"x"`, "-32001", "Session not found")},
		"a session in small case": {strings.ToLower(id), toolCall("1", "echo"), 404, failure("1", "-32001", "Session not found")},
		"an unknown notification": {id, `{"jsonrpc":"2.0","method":"notifications/x"}`, 202, ""},
		"initialized":             {id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		"a call without an id":    {id, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`, 202, ""},
		"a response":              {id, `{"jsonrpc":"2.0","id":1,"result":{}}`, 202, ""},
		"an unknown method":       {id, `{"jsonrpc":"2.0","id":"","method":"tools/Call"}`, 200, failure(`""`, "-32601", "Method not found")},
		"no method at all":        {id, `{"jsonrpc":"2.0","id":1,"method":""}`, 200, failure("1", "-32601", "Method not found")},
		"resources":               {id, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, 200, failure("1", "-32601", "Method not found")},
		"prompts":                 {id, `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, 200, failure("1", "-32601", "Method not found")},
		"log levels":              {id, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`, 200, failure("1", "-32601", "Method not found")},
		"a cancelling request":    {id, `{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}`, 200, failure("1", "-32601", "Method not found")},
		"ping":                    {id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"tools/list": {
			id, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, 200,
			`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","description":"Says <it> again","inputSchema":{"type":"object"},` +
				`"annotations":{"title":"Echo","readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.post(c.session, c.body)
			r.want(got, c.status, c.want)
			if got.header.Get("Cache-Control") != "no-store" || got.session != "" {
				t.Errorf("the answer's header is %v", got.header)
			}
			if c.want != "" && (got.header.Get("Content-Type") != "application/json" ||
				got.header.Get("Content-Length") != strconv.Itoa(len(c.want)+1)) {
				t.Errorf("the answer's header is %v", got.header)
			}
		})
	}
	r.want(r.post("", toolCall("1", "echo"), sessionHeader, ""), 400, failure("1", "-32600", "Mcp-Session-Id header is required"))
	r.want(r.post(id, toolCall("1", "echo"), sessionHeader, id), 400, failure("1", "-32600", "Mcp-Session-Id header must be given once"))
	if len(r.ran) != 0 {
		t.Errorf("tools ran: %q", r.ran)
	}
}

// The answer is the same whatever the request says of types (clause mcp.json).
func TestHeadersThatDontCount(t *testing.T) {
	r := start(t)
	id := r.open()
	for _, headers := range [][]string{
		nil,
		{"Accept", "application/json"},
		{"Accept", "text/event-stream"},
		{"Accept", "*/*", "Content-Type", "text/plain"},
		{"Content-Type", "application/json"},
		{"Last-Event-Id", "3"},
	} {
		got := r.post(id, toolCall("1", "echo"), headers...)
		r.want(got, http.StatusOK, said("1", "echo{}"))
		if typ := got.header.Get("Content-Type"); typ != "application/json" {
			t.Errorf("%v: answered as %q", headers, typ)
		}
	}
}

func TestBodyThatCannotBeRead(t *testing.T) {
	r := start(t)
	for want, reader := range map[int]func(w http.ResponseWriter) io.Reader{
		http.StatusRequestEntityTooLarge: func(w http.ResponseWriter) io.Reader {
			return http.MaxBytesReader(w, io.NopCloser(strings.NewReader(hello)), 10)
		},
		http.StatusBadRequest: func(http.ResponseWriter) io.Reader {
			return io.MultiReader(strings.NewReader(hello), brokenReader{})
		},
	} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", reader(w)))
		var body map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &body); w.Code != want || err != nil || len(body) != 1 || body["error"] == "" {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, want)
		}
	}
	if len(r.opened) != 0 {
		t.Error("a session was opened")
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("reset") }

// serve puts the gateway behind a real HTTP server.
func (r *rig) serve() *httptest.Server {
	s := httptest.NewServer(r)
	r.t.Cleanup(s.Close)
	return s
}

// begun waits for a call to reach its tool.
func (r *rig) begun(i int) *fakeCall {
	r.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		r.mu.Lock()
		n := len(r.waiting)
		r.mu.Unlock()
		if n > i {
			return r.call(i)
		}
	}
	r.t.Fatal("the call did not reach its tool within 5 s")
	return nil
}

func TestDroppedConnection(t *testing.T) {
	r := start(t)
	server := r.serve()
	id := r.open()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	body := toolCall("1", "wait")
	_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: "+id+
		"\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if err != nil {
		t.Fatal(err)
	}
	call := r.begun(0)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-call.ctx.Done():
	case <-time.After(2 * time.Second):
		t.Fatal("the call goes on 2 s after its client left")
	}
	r.want(r.post(id, toolCall("2", "echo")), http.StatusOK, said("2", "echo{}"))
}

// The answer to a call that waits reaches its client when the gateway closes and the HTTP server after it.
func TestCloseAnswers(t *testing.T) {
	r := start(t)
	server := r.serve()
	id := r.open()
	type outcome struct {
		body string
		err  error
	}
	answer := make(chan outcome, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(toolCall("1", "wait")))
		if err != nil {
			answer <- outcome{"", err}
			return
		}
		req.Header.Set(sessionHeader, id)
		res, err := server.Client().Do(req)
		if err != nil {
			answer <- outcome{"", err}
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		answer <- outcome{string(body), err}
	}()
	r.begun(0)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	got := <-answer
	if want := failure("1", "-32000", "The browser is stopping") + "\n"; got.err != nil || got.body != want {
		t.Errorf("got %q and %v, want %q", got.body, got.err, want)
	}
}
