package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/sidecar/admit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tok-0123456789-0123456789-0123456789"

// rig is a server on loopback, and what its /mcp was asked.
type rig struct {
	*Server
	t    *testing.T
	addr string
	log  *lines

	mu    sync.Mutex
	calls []string // bodies that reached /mcp
	serve http.HandlerFunc
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// quick are limits that a test can wait for.
func quick() Limits {
	l := DefaultLimits()
	l.HeadTime, l.IdleTime, l.BodyTime = 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond
	l.WriteTime = time.Second
	return l
}

func start(t *testing.T, limits Limits) *rig {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, addr: ln.Addr().String(), log: &lines{}}
	r.serve = func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		writeJSON(w, http.StatusOK, map[string]string{"got": string(body)})
	}
	r.Server = Serve(ln, Options{
		Gate:    admit.New(token, admit.Hosts("127.0.0.1", netip.MustParseAddrPort(r.addr), nil)),
		Version: "1.2.3",
		Limits:  limits,
		Log:     slog.New(slog.NewTextHandler(r.log, nil)),
		MCP: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			req.Body = io.NopCloser(strings.NewReader(string(body)))
			r.mu.Lock()
			r.calls = append(r.calls, string(body))
			r.mu.Unlock()
			r.serve(w, req)
		}),
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return r
}

func (r *rig) reached() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.calls...)
}

// fill puts the rig's address and token in place of $HOST and $AUTH, and CR LF in place of line ends.
func (r *rig) fill(text string) string {
	text = strings.ReplaceAll(text, "\n", "\r\n")
	return strings.NewReplacer("$HOST", "Host: "+r.addr, "$ADDR", r.addr, "$AUTH", "Authorization: Bearer "+token).Replace(text)
}

// client is a raw connection with a bound on everything it waits for.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func (r *rig) dial() *client {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	r.t.Cleanup(func() { _ = c.Close() })
	return &client{c, r.t, bufio.NewReader(c)}
}

func (c *client) send(raw string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
	return c
}

// answer reads one response, with its body.
func (c *client) answer() (*http.Response, string) {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatalf("reading an answer: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("reading an answer's body: %v", err)
	}
	return res, string(body)
}

// closed reports that nothing more comes than the end.
func (c *client) closed() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.in); err != nil || len(rest) > 0 {
		c.t.Fatalf("want the connection's end, got %q, %v", rest, err)
	}
}

// alive is the liveness check after a refusal.
func (r *rig) alive() {
	r.t.Helper()
	res, body := r.dial().send(r.fill("GET /health HTTP/1.1\n$HOST\n$AUTH\n\n")).answer()
	if res.StatusCode != http.StatusOK || body != `{"status":"ok","version":"1.2.3"}` {
		r.t.Fatalf("the server no longer answers: %d %s", res.StatusCode, body)
	}
}

// wantError checks an error's shape.
func wantError(t *testing.T, res *http.Response, body string, status int) {
	t.Helper()
	var shape struct {
		Error string `json:"error"`
	}
	if res.StatusCode != status {
		t.Errorf("got status %d (%s), want %d", res.StatusCode, body, status)
	}
	if err := json.Unmarshal([]byte(body), &shape); err != nil || shape.Error == "" {
		t.Errorf("the body %q is not an error in JSON", body)
	}
	if ct, cc := res.Header.Get("Content-Type"), res.Header.Get("Cache-Control"); ct != "application/json" || cc != "no-store" {
		t.Errorf("got content-type %q, cache-control %q", ct, cc)
	}
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("the answer carries %s", name)
		}
	}
	if strings.Contains(body, token) {
		t.Error("the answer holds the token")
	}
}

func TestRoutes(t *testing.T) {
	r := start(t, DefaultLimits())
	for _, tc := range []struct {
		request string
		status  int
	}{
		{"GET /health?x=1 HTTP/1.1\n$HOST\n$AUTH\n\n", 200},
		{"GET http://$ADDR/health HTTP/1.1\n$HOST\n$AUTH\n\n", 200},
		{"GET HTTP://$ADDR/health?x HTTP/1.1\n$HOST\n$AUTH\n\n", 200},
		{"GET http://$ADDR/health HTTP/1.1\nHost: evil.test\n$AUTH\n\n", 200},
		{"GET /health HTTP/1.0\n$HOST\n$AUTH\n\n", 200},
		{"POST /mcp?x HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 2\n\n{}", 200},
		{"GET /health/ HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"GET /%68ealth HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"POST /health HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 0\n\n", 404},
		{"GET / HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"GET // HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"GET //health HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"GET /x/../health HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"OPTIONS * HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"TRACE /health HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"CONNECT $ADDR HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"GET /tokens HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
		{"GET /live HTTP/1.1\n$HOST\n$AUTH\n\n", 404},
	} {
		res, body := r.dial().send(r.fill(tc.request)).answer()
		if tc.status == 200 {
			if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%q: got %d %s", tc.request, res.StatusCode, body)
			}
			continue
		}
		t.Run(tc.request, func(t *testing.T) { wantError(t, res, body, tc.status) })
	}
}

func TestAdmissionComesBeforeThePath(t *testing.T) {
	r := start(t, DefaultLimits())
	for _, path := range []string{"/health", "/mcp", "/nothing", "*", "//", "/live"} {
		method := "GET"
		if path == "*" {
			method = "OPTIONS"
		}
		for _, tc := range []struct {
			headers string
			status  int
		}{
			{"$HOST\n", 401},
			{"$HOST\nAuthorization: Bearer nope\n", 401},
			{"$HOST\n$AUTH\n$AUTH\n", 401},
			{"$HOST\n$AUTH\nOrigin:\n", 403},
			{"$HOST\n$AUTH\nOrigin: http://$ADDR\nAccess-Control-Request-Method: POST\n", 403},
			{"Host: evil.test\n$AUTH\nX-Forwarded-Host: $ADDR\n", 403},
			{"Host: \n$AUTH\n", 403},
			{"$HOST\nConnection: keep-alive, Upgrade\nUpgrade: websocket\n", 401},
		} {
			res, body := r.dial().send(r.fill(method + " " + path + " HTTP/1.1\n" + tc.headers + "\n")).answer()
			t.Run(path+" "+tc.headers, func(t *testing.T) { wantError(t, res, body, tc.status) })
		}
	}
	if got := r.reached(); len(got) > 0 {
		t.Errorf("refused requests reached /mcp: %q", got)
	}
	r.alive()
}

func TestHostIsJudgedWhereverItStands(t *testing.T) {
	r := start(t, DefaultLimits())
	for _, tc := range []struct {
		request string
		status  int
	}{
		{"GET /health HTTP/1.1\n$AUTH\n\n", 400},
		{"GET /health HTTP/1.0\n$AUTH\n\n", 403},
		{"GET /health HTTP/1.1\n$HOST\n$HOST\n$AUTH\n\n", 400},
		{"GET /health HTTP/1.1\n$HOST\n$AUTH\nhOST: evil.test\n\n", 400},
		{"GET /health HTTP/1.0\n$HOST\nHost: evil.test\n$AUTH\n\n", 400},
		{"GET http://evil.test/health HTTP/1.1\n$HOST\n$AUTH\n\n", 403},
		{"GET http://$ADDR/health HTTP/1.1\n$AUTH\n\n", 400},
		{"GET http://evil.test/health HTTP/1.0\n$AUTH\n\n", 403},
		{"GET http:///health HTTP/1.0\n$HOST\n$AUTH\n\n", 400},
		{"GET http://x@$ADDR/health HTTP/1.1\n$HOST\n$AUTH\n\n", 400},
		{"GET https://$ADDR/health HTTP/1.1\n$HOST\n$AUTH\n\n", 400},
		{"CONNECT evil.test:80 HTTP/1.1\n$HOST\n$AUTH\n\n", 403},
		{"CONNECT $ADDR HTTP/1.1\n$AUTH\n\n", 400},
	} {
		res, body := r.dial().send(r.fill(tc.request)).answer()
		t.Run(tc.request, func(t *testing.T) { wantError(t, res, body, tc.status) })
	}
	r.alive()
}

func TestUpgradesGetNoSocket(t *testing.T) {
	r := start(t, DefaultLimits())
	c := r.dial().send(r.fill("GET /mcp HTTP/1.1\n$HOST\n$AUTH\nConnection: Upgrade\nUpgrade: websocket\n" +
		"Sec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\nGET /health HTTP/1.1\n$HOST\n$AUTH\n\n"))
	res, body := c.answer()
	wantError(t, res, body, http.StatusNotFound)
	if !res.Close {
		t.Error("the connection stays open after a refused upgrade")
	}
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	c.closed()
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	r := start(t, DefaultLimits())
	release := make(chan struct{})
	inner := r.serve
	r.serve = func(w http.ResponseWriter, req *http.Request) {
		<-release
		inner(w, req)
	}
	c := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 3\n\none" +
		"\n\nPOST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 3\n\ntwo" +
		"GET /nothing HTTP/1.1\n$HOST\n$AUTH\n\n" +
		"GET /health HTTP/1.1\n$HOST\n\n" +
		"GET /health HTTP/1.1\n$HOST\n$AUTH\nTransfer-Encoding: chunked\nContent-Length: 3\n\n" +
		"GET /health HTTP/1.1\n$HOST\n$AUTH\n\n"))
	close(release)
	for i, want := range []string{`{"got":"one"}`, `{"got":"two"}`, `{"error":"Not found"}`, `{"error":"Missing or invalid bearer token"}`, `{"error":"Malformed request: Content-Length with Transfer-Encoding"}`} {
		if res, body := c.answer(); body != want {
			t.Fatalf("answer %d: got %d %s, want %s", i, res.StatusCode, body, want)
		}
	}
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	c.closed()
	r.alive()
}

func TestRequestsMayComeByteByByte(t *testing.T) {
	r := start(t, DefaultLimits())
	c := r.dial()
	text := r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 3\n\nabc")
	for range 2 {
		for i := range len(text) {
			c.send(text[i : i+1])
		}
		if _, body := c.answer(); body != `{"got":"abc"}` {
			t.Fatalf("got %s", body)
		}
	}
}

func TestACallEndsWhenItsClientLeaves(t *testing.T) {
	r := start(t, DefaultLimits())
	entered, left := make(chan struct{}), make(chan struct{})
	r.serve = func(_ http.ResponseWriter, req *http.Request) {
		close(entered)
		<-req.Context().Done()
		close(left)
	}
	c := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 2\n\n{}"))
	<-entered
	_ = c.Close()
	select {
	case <-left:
	case <-time.After(5 * time.Second):
		t.Fatal("the call goes on without its client")
	}
}

func TestAHandlerThatFailsIsAnsweredAndLogged(t *testing.T) {
	r := start(t, DefaultLimits())
	r.serve = func(http.ResponseWriter, *http.Request) { panic(fmt.Errorf("secret %s", token)) }
	res, body := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\n\n")).answer()
	wantError(t, res, body, http.StatusInternalServerError)
	if log := r.log.String(); strings.Contains(log, token) || !strings.Contains(log, "TestAHandlerThatFails") || strings.Contains(log, ".go:") {
		t.Errorf("the log should name the function, and no value or file: %s", log)
	}
	r.alive()
}

func TestCloseLetsRunningRequestsFinish(t *testing.T) {
	r := start(t, DefaultLimits())
	entered, release := make(chan struct{}), make(chan struct{})
	r.serve = func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		writeError(w, http.StatusOK, "stopping")
	}
	unused := r.dial()
	c := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\n\n"))
	<-entered
	done := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		done <- r.http.Shutdown(ctx)
	}()
	close(release)
	if _, body := c.answer(); body != `{"error":"stopping"}` {
		t.Fatalf("got %s", body)
	}
	r.ln.closeUnused()
	unused.closed()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestCloseCutsWhatDoesNotFinish(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	addr := netip.MustParseAddrPort(ln.Addr().String())
	s := Serve(ln, Options{
		Gate: admit.New(token, admit.Hosts("127.0.0.1", addr, nil)), Limits: DefaultLimits(), Log: slog.New(slog.DiscardHandler),
		MCP: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			close(entered)
			<-req.Context().Done()
		}),
	})
	r := &rig{t: t, addr: addr.String()}
	c := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\n\n"))
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := c.in.ReadByte(); err == nil {
		t.Error("the connection is still open")
	}
}
