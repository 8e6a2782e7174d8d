package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// controlTag and lastTag name the targets of every page that must be reached: before all others, and behind them.
const controlTag, lastTag = "control", "last"

// attemptWithin bounds one attempt of a page: generous, since a busy machine must not make a control look refused.
const attemptWithin = 5 * time.Second

// Page opens a page of the app in the sidecar's browser that tries each target by each way, and waits until it is done.
// A public target goes with them and must be reached by the same ways: a page that reaches nothing proves nothing. Another
// comes last, by the ways that a page doesn't wait for: once it is reached, those of all targets have been tried.
func Page(ctx context.Context, l *lab.Lab, s *lab.Sidecar, targets []pages.Target) {
	ginkgo.GinkgoHelper()
	control := pages.Target{Tag: controlTag, URL: l.PublicURL(0, "/any"), Ways: ways(targets)}
	all := append([]pages.Target{control}, targets...)
	last := pages.Target{Tag: lastTag, URL: control.URL, Ways: slices.DeleteFunc(slices.Clone(control.Ways), waitedFor)}
	if len(last.Ways) > 0 {
		all = append(all, last)
	}
	reach := pages.Reach{Targets: all, Timeout: attemptWithin, Parallel: 32}
	var results []pages.Result
	Open(ctx, l, s, "/attack", reach, reach.Longest(), &results)
	for _, way := range control.Ways {
		if MayBeOff(way) {
			continue
		}
		// What a page sends without waiting, such as a ping, may come after it is done.
		Eventually(ctx, func() bool { return Arrived(l, controlTag, way) }).WithTimeout(5*time.Second).Should(BeTrue(),
			"the page's control: reaching the public %s by %s arrives; the page says %+v", control.URL, way, about(results, way))
	}
	for _, way := range last.Ways {
		if MayBeOff(way) && !Arrived(l, controlTag, way) {
			continue
		}
		Eventually(ctx, func() bool { return Arrived(l, lastTag, way) }).WithTimeout(5*time.Second).Should(BeTrue(),
			"the page's last control: reaching the public %s by %s arrives", last.URL, way)
	}
}

// MayBeOff tells the ways that a sidecar may switch off for every destination, since no page depends on them: hints and
// pings. A preconnect, besides, asks for nothing that a site could see.
func MayBeOff(way pages.Way) bool {
	return way == pages.Preconnect || way == pages.Prefetch || way == pages.Ping
}

// waitedFor tells the ways whose outcome a page waits for, so that it isn't done before they have been tried. A preconnect
// isn't one, but asks for nothing that would show when it comes.
func waitedFor(way pages.Way) bool {
	return way != pages.Beacon && way != pages.Ping && way != pages.CSSImage
}

// Arrived tells whether a page's attempt at a tagged target by a way reached any site.
func Arrived(l *lab.Lab, tag string, way pages.Way) bool {
	for _, r := range l.Sites.Requests() {
		if _, mark, ok := strings.Cut(r.Target, "way="+string(way)+"&tag="); ok && mark == url.QueryEscape(tag) {
			return true
		}
	}
	return false
}

// ways are all that any of the targets is tried by.
func ways(targets []pages.Target) []pages.Way {
	var all []pages.Way
	wanted := make(map[pages.Way]bool)
	for _, t := range targets {
		if len(t.Ways) == 0 {
			return pages.Ways()
		}
		for _, w := range t.Ways {
			wanted[w] = true
		}
	}
	for _, w := range pages.Ways() {
		if wanted[w] {
			all = append(all, w)
		}
	}
	return all
}

func about(results []pages.Result, way pages.Way) []pages.Result {
	var found []pages.Result
	for _, r := range results {
		if r.Way == way && r.Tag == controlTag {
			found = append(found, r)
		}
	}
	return found
}

// Renderer is a fixture page with its data.
type Renderer interface{ Render(w io.Writer) error }

// Open serves a page at a path of the app, opens it in the sidecar's browser, waits until it says that it is done, and
// reads its results.
func Open(ctx context.Context, l *lab.Lab, s *lab.Sidecar, path string, page Renderer, longest time.Duration, results any) {
	ginkgo.GinkgoHelper()
	engine.Harness(l.Sites.Handle(l.AppAddr().String(), path, app.Page(page)))
	session := Connect(ctx, s)
	Expect(session.Navigate(ctx, l.AppURL(path))).To(Succeed(), "opening a page of the app")
	Done(ctx, session, longest)
	Expect(session.Evaluate(ctx, "() => window.results", results)).To(Succeed(), "reading the page's results")
}

// Rebound puts a page on a name's site that polls a path there, each answer on a connection of its own: only a new
// connection needs a new look-up, whose answer can be another.
func Rebound(l *lab.Lab, name, path string, polls pages.Rebind) {
	ginkgo.GinkgoHelper()
	engine.Harness(l.Sites.Handle(name, path, closing(app.Page(polls))))
	engine.Harness(l.Sites.Handle(name, polls.Path, closing(http.NotFoundHandler())))
}

// Polled wants the polls of a Rebound page to have happened: the name was looked up again, or, where a sidecar keeps to
// its first answer, a poll came to the site.
func Polled(l *lab.Lab, name, path string, polls pages.Rebind) {
	ginkgo.GinkgoHelper()
	Expect(l.Sites.RequestsTo(name, path)).NotTo(BeEmpty(), "the control: the page of %s loads from its public address", name)
	lookups := 0
	for _, q := range l.DNS.QueriesFor(name) {
		lookups = max(lookups, q.Nth)
	}
	if lookups < 2 && len(l.Sites.RequestsTo(name, polls.Path)) == 0 {
		engine.Fail("the control: the page of "+name+" polls its origin",
			[]string{"a second look-up of the name", "a poll at its public address"}, fmt.Sprintf("%d look-up, no poll", lookups))
	}
}

// closing ends each connection with its answer.
func closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		h.ServeHTTP(w, r)
	})
}

// Done waits until the page that a session shows says that it is done.
func Done(ctx context.Context, session *lab.Session, longest time.Duration) {
	ginkgo.GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		if session.Sidecar().Ended() {
			StopTrying("the sidecar ended").Now()
		}
		var done bool
		g.Expect(session.Evaluate(ctx, "() => window.done === true", &done)).To(Succeed())
		g.Expect(done).To(BeTrue(), "window.done")
	}).WithTimeout(longest+5*time.Second).WithPolling(100*time.Millisecond).Should(Succeed(), "waiting for the page to be done")
}
