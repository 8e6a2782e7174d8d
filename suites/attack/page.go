package attack

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// controlTag names the target of every page that must be reached.
const controlTag = "control"

// Page opens a page of the app in the sidecar's browser that tries each target by each way, and waits until it is done.
// A public target goes with them and must be reached by the same ways: a page that reaches nothing proves nothing.
func Page(ctx context.Context, l *lab.Lab, s *lab.Sidecar, targets []pages.Target) []pages.Result {
	ginkgo.GinkgoHelper()
	control := pages.Target{Tag: controlTag, URL: l.PublicURL(0, "/any"), Ways: ways(targets)}
	reach := pages.Reach{Targets: append([]pages.Target{control}, targets...), Timeout: 2 * time.Second, Parallel: 48}
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
	return results
}

// MayBeOff tells the ways that a sidecar may switch off for every destination, since no page depends on them: hints and
// pings. A preconnect, besides, asks for nothing that a site could see.
func MayBeOff(way pages.Way) bool {
	return way == pages.Preconnect || way == pages.Prefetch || way == pages.Ping
}

// Arrived tells whether a page's attempt at a tagged target by a way reached any site.
func Arrived(l *lab.Lab, tag string, way pages.Way) bool {
	for _, r := range l.Sites.Requests() {
		if strings.Contains(r.Target, "way="+string(way)+"&tag="+tag) {
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

// Done waits until the page that a session shows says that it is done.
func Done(ctx context.Context, session *lab.Session, longest time.Duration) {
	ginkgo.GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var done bool
		g.Expect(session.Evaluate(ctx, "() => window.done === true", &done)).To(Succeed())
		g.Expect(done).To(BeTrue(), "window.done")
	}).WithTimeout(longest+5*time.Second).WithPolling(100*time.Millisecond).Should(Succeed(), "waiting for the page to be done")
}
