package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// TestMain gives the tests a temporary directory of their own, in which nothing may be left: no profile, and none of
// Chromium's own temporary directories.
func TestMain(m *testing.M) {
	temp, err := os.MkdirTemp("", "b")
	if err == nil {
		err = os.Setenv("TMPDIR", temp)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.Remove(temp); err != nil {
			fmt.Fprintln(os.Stderr, "the tests left something behind:", err)
			code = 1
		}
		os.Exit(code)
	}))
}

// needChromium skips where there is no Chromium, and fails instead in CI.
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

// start launches a browser that must be gone, with its process group, at the end of the test.
func start(t *testing.T, change func(*browser.Options)) *browser.Browser {
	t.Helper()
	needChromium(t)
	o := browser.Options{
		Profile: t.TempDir(), Downloads: t.TempDir(), Sandbox: os.Geteuid() != 0,
		Log: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := browser.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
		noGroup(t, b.Pid())
	})
	return b
}

// noGroup fails when a process of the group still runs; a zombie that init is about to reap doesn't count.
func noGroup(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the process group is gone", func() bool {
		if errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) {
			return true
		}
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range stats {
			text, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			_, rest, _ := bytes.Cut(text, []byte(") "))
			var state string
			var parent, group int
			if _, err := fmt.Sscan(string(rest), &state, &parent, &group); err == nil && group == pid && state != "Z" {
				return false
			}
		}
		return true
	})
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
		<-tick.C
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// site serves fixed pages on 127.0.0.1; paths under /to/ redirect to what follows.
func site(t *testing.T, pages map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to" {
			http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
			return
		}
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(s.Close)
	return s
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func open(t *testing.T, p *browser.Page, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d, err := p.Navigate(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitFor(ctx, d, "load"); err != nil {
		t.Fatal(err)
	}
}

func evaluate(t *testing.T, p *browser.Page, code string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	text, err := p.Evaluate(ctx, code, nil)
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return text
}

func TestStartNavigateAndClose(t *testing.T) {
	began := time.Now()
	b := start(t, nil)
	t.Logf("ready after %v", time.Since(began))
	s := site(t, map[string]string{"/": "<title>Here</title><h1>Hi</h1>"})
	p := b.Pages()[0]
	open(t, p, s.URL+"/")
	if got := p.URL(); got != s.URL+"/" {
		t.Errorf("URL %q", got)
	}
	if got := evaluate(t, p, "document.title"); got != `"Here"` {
		t.Errorf("title %s", got)
	}
	if got := p.Status(); got.Code != 200 {
		t.Errorf("status %v", got)
	}
	if got := evaluate(t, p, "[innerWidth, innerHeight]"); got != "[\n  1280,\n  720\n]" {
		t.Errorf("size %s", got)
	}
	open(t, p, s.URL+"/nothing")
	if got := p.Status(); got.Code != 404 || got.Text != "Not Found" {
		t.Errorf("status %v", got)
	}
}
