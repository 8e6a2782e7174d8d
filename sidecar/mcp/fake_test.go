package mcp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake are tools whose calls the test answers: echo and odd return at once, wait until it is released or its context
// ends, stubborn until it is released.
type fake struct {
	mu      sync.Mutex
	opened  []*fakeSession
	waiting []*fakeCall
	ran     []string // names and arguments of all calls
}

type fakeSession struct {
	tools  *fake
	closed int
}

type fakeCall struct {
	ctx     context.Context
	release chan Result
}

func (f *fake) Definitions() []Definition {
	return []Definition{{
		Name: "echo", Description: "Says <it> again", InputSchema: json.RawMessage(`{"type":"object"}`),
		Annotations: Annotations{Title: "Echo", ReadOnlyHint: true},
	}}
}

func (f *fake) Open() Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &fakeSession{tools: f}
	f.opened = append(f.opened, s)
	return s
}

func (s *fakeSession) Call(ctx context.Context, name string, arguments json.RawMessage) Result {
	c := &fakeCall{ctx, make(chan Result, 1)}
	s.tools.mu.Lock()
	s.tools.ran = append(s.tools.ran, name+string(arguments))
	if name == "wait" || name == "stubborn" {
		s.tools.waiting = append(s.tools.waiting, c)
	}
	s.tools.mu.Unlock()
	switch name {
	case "wait":
		select {
		case r := <-c.release:
			return r
		case <-ctx.Done():
			return Result{Content: words("ended"), IsError: true}
		}
	case "stubborn":
		return <-c.release
	case "panic":
		panic("with a page's words")
	case "endless":
		return Result{Meta: map[string]any{"never": make(chan int)}}
	case "odd":
		return Result{Content: words("a\xffb\xed\xa0\x80c<&>\u2028"), IsError: true, Meta: map[string]any{"k": "\xc3"}}
	case "image":
		return Result{Content: []Content{{Type: "image", Data: "aGk=", MIMEType: "image/png"}, {Type: "text"}}}
	case "nothing":
		return Result{}
	}
	return Result{Content: words(name + string(arguments))}
}

func (s *fakeSession) Close() {
	s.tools.mu.Lock()
	defer s.tools.mu.Unlock()
	s.closed++
}

func words(text string) []Content { return []Content{{Type: "text", Text: text}} }

// rig is a gateway to fake tools.
type rig struct {
	*Gateway
	*fake
	t   *testing.T
	log *strings.Builder // read it when nothing is running
}

func start(t *testing.T) *rig {
	f, log := new(fake), new(strings.Builder)
	g := New(Options{Version: "1.2.3", Tools: f, Log: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Errorf("closing: %v", err)
		}
		for i, s := range f.opened {
			if s.closed != 1 {
				t.Errorf("session %d was closed %d times", i, s.closed)
			}
		}
	})
	return &rig{g, f, t, log}
}

// reply is an HTTP answer.
type reply struct {
	status  int
	session string
	header  http.Header
	body    string
}

func (r *rig) send(ctx context.Context, method, session, body string, headers ...string) reply {
	req := httptest.NewRequestWithContext(ctx, method, "/mcp", strings.NewReader(body))
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	answer := w.Result()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Error(err)
	}
	return reply{answer.StatusCode, answer.Header.Get(sessionHeader), answer.Header, strings.TrimSuffix(string(got), "\n")}
}

func (r *rig) post(session, body string, headers ...string) reply {
	return r.send(r.t.Context(), http.MethodPost, session, body, headers...)
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// open begins a session.
func (r *rig) open() string {
	r.t.Helper()
	got := r.post("", hello)
	if got.status != http.StatusOK || got.session == "" {
		r.t.Fatalf("initialize was answered %d %s", got.status, got.body)
	}
	return got.session
}

// launch posts in the background. Its answer comes on the channel.
func (r *rig) launch(ctx context.Context, session, body string) <-chan reply {
	answer := make(chan reply, 1)
	go func() { answer <- r.send(ctx, http.MethodPost, session, body) }()
	return answer
}

// call is the i-th call that waits.
func (r *rig) call(i int) *fakeCall {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if i >= len(r.waiting) {
		r.t.Fatalf("%d calls wait, not %d", len(r.waiting), i+1)
	}
	return r.waiting[i]
}

// toolCall is a tools/call with the id as written.
func toolCall(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"}}`
}

func failure(id, code, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":"` + text + `"}}`
}

func said(id, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
}

func (r *rig) want(got reply, status int, body string) {
	r.t.Helper()
	if got.status != status || got.body != body {
		r.t.Errorf("got  %d %s\nwant %d %s", got.status, got.body, status, body)
	}
}

// pending reports whether no answer has come. In a bubble, after synctest.Wait, that is certain.
func (r *rig) pending(answer <-chan reply) {
	r.t.Helper()
	select {
	case got := <-answer:
		r.t.Errorf("answered already: %d %s", got.status, got.body)
	default:
	}
}
