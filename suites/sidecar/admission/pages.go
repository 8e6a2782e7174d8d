package admission

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func pagesOwn(l *lab.Lab) {
	// "A page in the sidecar's browser can't reach the sidecar's HTTP port: not by fetch in any mode, a posted form, an
	// image, a frame, an EventSource, a WebSocket or sendBeacon, and not under any spelling of a loopback address."
	It("can't be reached by a page in its own browser", engine.Clause("admission.page-loopback"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			var targets []pages.Target
			for i, host := range []string{
				"127.0.0.1", "localhost", "[::1]", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "sub.localhost", "LOCALHOST.",
				"[::ffff:127.0.0.1]", "017700000001",
			} {
				targets = append(targets, pages.Target{Tag: fmt.Sprint(i), URL: fmt.Sprintf("http://%s:%d/mcp", host, s.Port)})
			}
			attack.Page(ctx, l, s, targets)
			attack.Alive(ctx, s)
			Expect(s.Strangers(ctx)).To(BeEmpty(), "connections to the sidecar's port %d that the suite didn't make", s.Port)
		})

	// "A page in the sidecar's browser can't reach the sidecar's HTTP port by a name that resolves to a public address first and to the sidecar's address afterwards."
	It("can't be reached by a rebinding name", engine.Clause("admission.page-rebinding"), SpecTimeout(60*time.Second),
		func(ctx SpecContext) {
			s := attack.Start(ctx, l, func(c lab.Config) lab.Config {
				// Public sites listen there too, so that the name's first page comes from the same port.
				return c.With("port", lab.RebindPort)
			})
			engine.Harness(l.DNS.Set("rebind.test", dns.Answer(l.Public(0)), dns.Answer(l.AppAddr().Addr())))
			rebind := pages.Rebind{Path: "/health", Times: 12, Interval: 100 * time.Millisecond, Timeout: 2 * time.Second}
			attack.Rebound(l, "rebind.test", "/frame", rebind)
			urls := []string{fmt.Sprintf("http://rebind.test:%d/frame", lab.RebindPort)}
			attack.Done(ctx, attack.Frames(ctx, l, s, urls, len(urls)), rebind.Longest())
			attack.Polled(l, "rebind.test", "/frame", rebind)
			attack.Alive(ctx, s)
			Expect(s.Strangers(ctx)).To(BeEmpty(), "connections to the sidecar's port %d that the suite didn't make", s.Port)
		})
}
