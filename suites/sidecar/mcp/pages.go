package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// serve puts a page on a path of the app, and returns its URL.
func serve(l *lab.Lab, path, body string) string {
	GinkgoHelper()
	return attack.Serve(l, path, "<!doctype html><title>"+path+"</title>"+body)
}

// visit opens a page in a session.
func visit(ctx context.Context, m *lab.Session, url string) {
	GinkgoHelper()
	Expect(m.Navigate(ctx, url)).To(Succeed(), "opening a page of the app")
}

// read is what a function returns in the page of a session.
func read[T any](ctx context.Context, m *lab.Session, function string) T {
	GinkgoHelper()
	var value T
	Expect(m.Evaluate(ctx, function, &value)).To(Succeed(), "evaluating %s", function)
	return value
}

// mark is a function whose run in any page shows at the app, which it asks for the tag before it returns it.
func mark(l *lab.Lab, tag string) string { return markAnd(l, tag, 0) }

// markAnd is a mark that takes its time before it returns.
func markAnd(l *lab.Lab, tag string, pause time.Duration) string {
	// An answer that nobody reads would be a request that isn't over.
	return fmt.Sprintf(`async () => {
  await (await fetch(%q, {mode: "no-cors"})).text();
  await new Promise(r => setTimeout(r, %d));
  return %q;
}`, markURL(l, tag), pause.Milliseconds(), tag)
}

func markURL(l *lab.Lab, tag string) string { return l.AppURL("/cors?mark=" + url.QueryEscape(tag)) }

// marked tells whether a mark has run.
func marked(l *lab.Lab, tag string) bool {
	for _, r := range l.Sites.RequestsTo(l.AppAddr().String(), "/cors") {
		if strings.HasSuffix(r.Target, "?mark="+url.QueryEscape(tag)) {
			return true
		}
	}
	return false
}

// runs wants a mark to run.
func runs(ctx context.Context, l *lab.Lab, tag string) {
	GinkgoHelper()
	Eventually(ctx, func() bool { return marked(l, tag) }).WithTimeout(soon).WithPolling(20*time.Millisecond).
		Should(BeTrue(), "the call with the mark %s runs in the page", tag)
}

// gate holds calls in the page until a spec lets them go: each asks a path of the app again and again.
type gate struct {
	l *lab.Lab

	mu    sync.Mutex
	asked map[string]bool
	open  map[string]bool
}

const gatePath = "/gate"

func newGate(l *lab.Lab) *gate {
	GinkgoHelper()
	g := &gate{l: l, asked: make(map[string]bool), open: make(map[string]bool)}
	engine.Harness(l.Sites.Handle(l.AppAddr().String(), gatePath, g))
	return g
}

// ServeHTTP answers whether a call may go.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tag := r.FormValue("tag")
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[tag] = true
	w.Header().Set("Cache-Control", "no-store")
	if g.open[tag] {
		_, _ = io.WriteString(w, "go")
	}
}

// function waits at the gate and returns the tag.
func (g *gate) function(tag string) string {
	return fmt.Sprintf(`async () => {
  while (!(await (await fetch(%q)).text())) await new Promise(r => setTimeout(r, 50));
  return %q;
}`, g.l.AppURL(gatePath+"?tag="+url.QueryEscape(tag)), tag)
}

// release lets a call go.
func (g *gate) release(tag string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[tag] = true
}

// waits wants a call to be at the gate.
func (g *gate) waits(ctx context.Context, tag string) {
	GinkgoHelper()
	Eventually(ctx, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.asked[tag]
	}).WithTimeout(soon).WithPolling(20*time.Millisecond).Should(BeTrue(), "the call %s is under way in the page", tag)
}

// held is a page of the app that comes only when a spec lets it.
type held struct {
	asked   chan struct{} // closed when somebody wants it
	release func()
}

func newHeld(l *lab.Lab, path string) held {
	GinkgoHelper()
	asked, released := make(chan struct{}), make(chan struct{})
	ask, h := sync.OnceFunc(func() { close(asked) }), held{asked, sync.OnceFunc(func() { close(released) })}
	DeferCleanup(h.release)
	engine.Harness(l.Sites.Handle(l.AppAddr().String(), path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask()
		select {
		case <-released:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>at last</title>")
	})))
	return h
}
