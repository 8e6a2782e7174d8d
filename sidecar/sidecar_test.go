package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/sidecar"
	"github.com/browser-sidecar/conformance/sidecar/browser"
	"github.com/browser-sidecar/conformance/sidecar/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tok-0123456789-0123456789-0123456789"

func needChromium(t *testing.T) {
	t.Helper()
	if _, ok := browser.Find(); ok {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("Chromium is missing")
	}
	t.Skip("Chromium is missing")
}

// rig is a run of the sidecar beside an app of its own.
type rig struct {
	t       *testing.T
	config  *config.Config
	workdir string
	log     *logged
	opened  chan string // paths that the app was asked for
	ready   chan int
	ended   chan error
}

type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newRig(t *testing.T, more string) *rig {
	t.Helper()
	r := &rig{t: t, workdir: t.TempDir(), log: &logged{}, opened: make(chan string, 100), ready: make(chan int, 1), ended: make(chan error, 1)}
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case r.opened <- req.URL.Path:
		default:
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>app "+req.URL.Path+"</title><button>Press</button>")
	}))
	t.Cleanup(app.Close)
	text := fmt.Sprintf(`{"token": %q, "app_url": %q, "workdir": %q, "chromium_sandbox": %v%s}`,
		token, app.URL, r.workdir, os.Getuid() != 0, more)
	var err error
	if r.config, _, err = config.Parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

// start runs the sidecar until the returned function, or the test's end, stops it.
func (r *rig) start() (stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.run(ctx)
	}()
	r.t.Cleanup(func() {
		cancel(nil)
		<-over
	})
	return func() { cancel(errors.New("received a test")) }
}

func (r *rig) run(ctx context.Context) {
	options := sidecar.Options{Version: "1.2.3", Log: slog.New(slog.NewTextHandler(r.log, nil))}
	r.ended <- sidecar.Run(ctx, r.config, options, func(port int) error {
		r.ready <- port
		return nil
	})
}

// port waits for the sidecar to be ready.
func (r *rig) port() int {
	r.t.Helper()
	select {
	case port := <-r.ready:
		return port
	case err := <-r.ended:
		r.t.Fatalf("the sidecar never became ready: %v\n%s", err, r.log)
	case <-time.After(40 * time.Second):
		r.t.Fatalf("the sidecar is not ready after 40 s\n%s", r.log)
	}
	return 0
}

// end waits for the run's end and checks that nothing of it is left.
func (r *rig) end() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.nothingLeft()
		return err
	case <-time.After(15 * time.Second):
		r.t.Fatalf("the sidecar does not stop\n%s", r.log)
		return nil
	}
}

func (r *rig) nothingLeft() {
	r.t.Helper()
	entries, err := os.ReadDir(r.workdir)
	if err != nil || len(entries) > 0 {
		r.t.Errorf("left in workdir: %v, %v", entries, err)
	}
	if pids := r.processes(); len(pids) > 0 {
		r.t.Errorf("left: processes %v", pids)
	}
	if strings.Contains(r.log.String(), token) {
		r.t.Error("the token is in the log")
	}
}

// processes lists those whose command line names the working directory: Chromium's.
func (r *rig) processes() []int {
	r.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	var pids []int
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(r.workdir)) {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

func (r *rig) call(port int, method, path, session, body string) (status int, header http.Header, answer string) {
	r.t.Helper()
	status, header, answer, err := r.try(port, method, path, session, body)
	if err != nil {
		r.t.Error(err) // a test's other goroutines call too, which may not end it
	}
	return status, header, answer
}

func (r *rig) try(port int, method, path, session, body string) (status int, header http.Header, answer string, err error) {
	req, err := http.NewRequestWithContext(r.t.Context(), method, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(text), errors.Join(err, res.Body.Close())
}

// initialize opens an MCP session.
func (r *rig) initialize(port int) string {
	r.t.Helper()
	status, header, body := r.call(port, "POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if status != http.StatusOK || header.Get("Mcp-Session-Id") == "" {
		r.t.Fatalf("initialize: %d %s", status, body)
	}
	return header.Get("Mcp-Session-Id")
}

// tool calls a tool and returns the whole answer.
func (r *rig) tool(port int, session, name, arguments string) string {
	r.t.Helper()
	_, _, body := r.call(port, http.MethodPost, "/mcp", session, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments))
	return body
}

func TestRunServesAndLeavesNothing(t *testing.T) {
	needChromium(t)
	r := newRig(t, "")
	stop := r.start()
	port := r.port()

	if status, _, body := r.call(port, "GET", "/health", "", ""); status != http.StatusOK || body != `{"status":"ok","version":"1.2.3"}` {
		t.Errorf("health: %d %s", status, body)
	}
	select {
	case path := <-r.opened:
		if path != "/" {
			t.Errorf("the app was asked for %s first", path)
		}
	case <-time.After(20 * time.Second):
		t.Error("the app was not opened")
	}
	session := r.initialize(port)
	body := r.tool(port, session, "browser_navigate", `{"url":"/two"}`)
	if !strings.Contains(body, "app /two") || !strings.Contains(body, "Press") {
		t.Errorf("navigating: %s", body)
	}
	if len(r.processes()) == 0 {
		t.Error("no Chromium process was found: nothingLeft could not fail")
	}

	stop()
	if err := r.end(); err != nil {
		t.Errorf("a stop is no error: %v", err)
	}
	if !strings.Contains(r.log.String(), "stopping: received a test") {
		t.Errorf("the log does not say why it stopped: %s", r.log)
	}
}

func TestAWaitingCallIsAnsweredWhenItStops(t *testing.T) {
	needChromium(t)
	r := newRig(t, "")
	stop := r.start()
	port := r.port()
	session := r.initialize(port)
	r.tool(port, session, "browser_navigate", `{"url":"/"}`)
	answered := make(chan string, 1)
	go func() {
		answered <- r.tool(port, session, "browser_evaluate", `{"function":"() => fetch('/waiting').then(() => new Promise(() => {}))"}`)
	}()
	for path := ""; path != "/waiting"; {
		select {
		case path = <-r.opened:
		case <-time.After(20 * time.Second):
			t.Fatal("the call never ran")
		}
	}
	stop()
	select {
	case body := <-answered:
		if !strings.Contains(body, "stopping") {
			t.Errorf("got %s", body)
		}
	case <-time.After(15 * time.Second):
		t.Error("the call was not answered")
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestRequestsThatNeverGetWholeMakeNoStopFail(t *testing.T) {
	needChromium(t)
	r := newRig(t, "")
	stop := r.start()
	address := fmt.Sprintf("127.0.0.1:%d", r.port())
	for _, text := range []string{"", "POST /mcp HT", fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 9\r\n\r\n", address, token)} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestTheBrowsersEndIsAnError(t *testing.T) {
	needChromium(t)
	r := newRig(t, "")
	r.start()
	r.port()
	for _, pid := range r.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := r.end(); !errors.Is(err, sidecar.ErrBrowserGone) {
		t.Errorf("got %v", err)
	}
}

func TestStopAt(t *testing.T) {
	needChromium(t)
	past := newRig(t, `, "stop_at": 1000`)
	past.start()
	if err := past.end(); err != nil {
		t.Errorf("in the past: %v", err)
	}
	soon := newRig(t, fmt.Sprintf(`, "stop_at": %d`, time.Now().Add(4*time.Second).UnixMilli()))
	soon.start()
	soon.port()
	if err := soon.end(); err != nil {
		t.Errorf("soon: %v", err)
	}
	if !strings.Contains(soon.log.String(), "the sandbox expired") {
		t.Errorf("the log does not say why: %s", soon.log)
	}
}

func TestAStopDuringTheStartLeavesNothing(t *testing.T) {
	needChromium(t)
	for name, reached := range map[string]func(*rig) bool{
		"at once":                 func(*rig) bool { return true },
		"with directories":        func(r *rig) bool { return len(glob(t, r.workdir+"/*/output")) > 0 },
		"with a Chromium process": func(r *rig) bool { return len(r.processes()) > 0 },
		"with a profile":          func(r *rig) bool { return len(glob(t, r.workdir+"/*/profile/*")) > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "")
			stop := r.start()
			for deadline := time.Now().Add(20 * time.Second); !reached(r) && time.Now().Before(deadline); {
				<-time.After(time.Millisecond)
			}
			stop()
			if err := r.end(); err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	needChromium(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	r := newRig(t, `, "port": `+port)
	r.start()
	if err := r.end(); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("got %v, want an error that names %s", err, taken.Addr())
	}

	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	r = newRig(t, `, "mode": "headed"`)
	r.start()
	if err := r.end(); err == nil || !strings.Contains(err.Error(), "display") {
		t.Errorf("headed without a display: got %v", err)
	}
}

func TestTheReadyLinesFailureStopsIt(t *testing.T) {
	needChromium(t)
	r := newRig(t, "")
	broken := errors.New("standard output is closed")
	r.ended <- sidecar.Run(t.Context(), r.config, sidecar.Options{Log: slog.New(slog.NewTextHandler(r.log, nil))},
		func(int) error { return broken })
	if err := r.end(); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
