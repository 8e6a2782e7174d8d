package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/sidecar/browser"
	"github.com/browser-sidecar/conformance/sidecar/mcp"
	"github.com/browser-sidecar/conformance/sidecar/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a browser with tools over an app of given pages, and one session.
type bench struct {
	t       *testing.T
	browser *browser.Browser
	set     *tools.Set
	session mcp.Session
	app     string // the app's origin, on 127.0.0.1
	other   string // another site's origin, on localhost

	mu      sync.Mutex
	answers map[string]http.HandlerFunc
}

// answer lets the app and the other site answer a path in another way from now on.
func (b *bench) answer(path string, with http.HandlerFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[path] = with
}

// setUp serves the pages; in them, OTHER stands for the other site's origin. The path /to?url=… redirects.
func setUp(t *testing.T, pages map[string]string) *bench {
	t.Helper()
	if _, ok := browser.Find(); !ok {
		if os.Getenv("CI") == "true" {
			t.Fatal("Chromium is missing")
		}
		t.Skip("Chromium is missing")
	}
	b := &bench{t: t, answers: map[string]http.HandlerFunc{}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		answer := b.answers[r.URL.Path]
		b.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		switch r.URL.Path {
		case "/to":
			http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
			return
		case "/204", "/favicon.ico":
			w.WriteHeader(http.StatusNoContent)
			return
		}
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprint(w, strings.ReplaceAll(page, "OTHER", b.other))
	})
	app, other := httptest.NewServer(handler), httptest.NewServer(handler)
	t.Cleanup(app.Close)
	t.Cleanup(other.Close)
	b.app, b.other = app.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	u, err := url.Parse(b.app)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b.browser, err = browser.Start(ctx, browser.Options{
		Profile: t.TempDir(), Downloads: t.TempDir(), Sandbox: os.Geteuid() != 0, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.browser.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	b.set = tools.New(tools.Options{Browser: b.browser, App: u, Output: t.TempDir(), Workdir: t.TempDir()})
	b.session = b.set.Open()
	t.Cleanup(b.session.Close)
	return b
}

// call runs a tool and returns its text, and whether it was an error.
func (b *bench) call(name string, args any) (string, bool) {
	b.t.Helper()
	return callOn(b.t, b.session, name, args)
}

func callOn(t *testing.T, s mcp.Session, name string, args any) (string, bool) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	result := s.Call(ctx, name, raw)
	if len(result.Content) != 1 || result.Content[0].Type != "text" {
		t.Fatalf("%s: content %+v", name, result.Content)
	}
	return result.Content[0].Text, result.IsError
}

// must runs a tool that has to succeed.
func (b *bench) must(name string, args any) string {
	b.t.Helper()
	text, failed := b.call(name, args)
	if failed {
		b.t.Fatalf("%s %v failed: %s", name, args, text)
	}
	return text
}

// refused runs a tool that has to fail with a text that contains want.
func (b *bench) refused(want, name string, args any) string {
	b.t.Helper()
	text, failed := b.call(name, args)
	if !failed || !strings.Contains(text, want) {
		b.t.Fatalf("%s %v: want an error with %q, got (error %v): %s", name, args, want, failed, text)
	}
	return text
}

func (b *bench) open(path string) string {
	b.t.Helper()
	return b.must("browser_navigate", arg{"url": path})
}

// eval returns what an expression is in the page, as JSON text.
func (b *bench) eval(code string) string {
	b.t.Helper()
	text := b.must("browser_evaluate", arg{"function": code})
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "### Result\n"), "\n### ")
	return text
}

// ref finds the ref of the line that contains what.
func ref(t *testing.T, snapshot, what string) string {
	t.Helper()
	for line := range strings.SplitSeq(snapshot, "\n") {
		if strings.Contains(line, what) {
			if m := regexp.MustCompile(`\[ref=([a-z0-9]+)\]`).FindStringSubmatch(line); m != nil {
				return m[1]
			}
		}
	}
	t.Fatalf("no ref for %q in:\n%s", what, snapshot)
	return ""
}

type arg map[string]any

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in:\n%s", part, text)
		}
	}
}
