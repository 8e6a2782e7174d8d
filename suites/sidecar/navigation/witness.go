package navigation

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// dnsPort is where the sidecar asks for names.
const dnsPort = 53

// witness sees what leaves the browser.
type witness struct {
	l *lab.Lab
	s *lab.Sidecar
	// app is the authority of the app.
	app string
	// known are ports that the sidecar may connect to: its own, such as its proxy's.
	known map[int]bool
	// What was there before it began to look.
	requests, lookups, connections int
}

// newWitness begins to look: what earlier pages did is nobody's fault here.
func newWitness(ctx context.Context, l *lab.Lab, s *lab.Sidecar, app string) *witness {
	GinkgoHelper()
	w := &witness{l: l, s: s, app: app, known: map[int]bool{dnsPort: true, s.Port: true}}
	listeners, err := s.Listeners()
	engine.Harness(err)
	for _, l := range listeners {
		w.known[int(l.Addr.Port())] = true
	}
	// Which waits until the tap has seen everything, besides.
	_, err = s.Strangers(ctx)
	engine.Harness(err)
	w.requests, w.lookups, w.connections = len(l.Sites.Requests()), len(l.DNS.Queries()), len(l.Tap.All())
	return w
}

// atApp lists the targets of the requests for the app.
func (w *witness) atApp() []string {
	var targets []string
	for _, r := range w.l.Sites.Requests()[w.requests:] {
		if r.Listener == w.l.AppAddr() && strings.EqualFold(r.Host, w.app) {
			targets = append(targets, r.Target)
		}
	}
	return targets
}

// elsewhere lists what went elsewhere than to the app: requests, look-ups of the lab's names, connections.
func (w *witness) elsewhere(ctx context.Context) []string {
	GinkgoHelper()
	var left []string
	for _, r := range w.l.Sites.Requests()[w.requests:] {
		if r.Listener != w.l.AppAddr() || !strings.EqualFold(r.Host, w.app) {
			left = append(left, fmt.Sprintf("request %s %s at %s", r.Method, r.Host+r.Target, r.Listener))
		}
	}
	app, _, _ := strings.Cut(w.app, ":")
	for _, q := range w.l.DNS.Queries()[w.lookups:] {
		// A browser's own look-ups are another clause's business.
		if q.Name != app && (q.Name == lab.PublicName || strings.HasSuffix(q.Name, "."+lab.PublicName)) {
			left = append(left, "look-up of "+q.Asked)
		}
	}
	strangers, err := w.s.Strangers(ctx)
	engine.Harness(err)
	for _, a := range strangers {
		left = append(left, "connection to the sidecar itself "+a.String())
	}
	for _, a := range w.l.Tap.All()[w.connections:] {
		own := w.known[int(a.To.Port())] && (a.To.Addr().IsLoopback() || a.To.Port() == dnsPort)
		if a.To != w.l.AppAddr() && !own {
			left = append(left, "connection "+a.String())
		}
	}
	return left
}

// nothingLeft wants nothing to have gone elsewhere, and no more requests to the app than before.
func (w *witness) nothingLeft(ctx context.Context, before int, did string) {
	GinkgoHelper()
	if left := w.elsewhere(ctx); len(left) > 0 {
		engine.Fail(did, []string{"no request, look-up or connection elsewhere"}, strings.Join(left[:min(len(left), 10)], "; "))
	}
	if before >= 0 {
		Expect(w.atApp()[before:]).To(BeEmpty(), "%s: requests at the app", did)
	}
}
