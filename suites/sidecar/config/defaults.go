package config

import (
	"net/netip"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

func defaults(l *lab.Lab) {
	// "A configuration of only token and app_url starts, and the sidecar then listens on 127.0.0.1 with a free port,
	// headless, without recording and without a live view."
	It("starts with a token and an app alone", engine.Clause("config.defaults"), func(ctx SpecContext) {
		other := attack.Sidecar(ctx, l)
		s := smallest(ctx, l, nil)
		l.Tap.Reset()
		listeners, err := s.Listeners()
		engine.Harness(err)
		own := map[int]bool{int(l.AppAddr().Port()): true}
		var addrs []netip.Addr
		for _, a := range listeners {
			own[int(a.Addr.Port())] = true
			if int(a.Addr.Port()) == s.Port {
				addrs = append(addrs, a.Addr.Addr())
			}
		}
		Expect(addrs).To(ConsistOf(netip.MustParseAddr("127.0.0.1")), "the addresses of the port that the ready line names")
		Expect(s.Port).NotTo(Equal(other.Port), "the ports of two sidecars at once")
		noLive(ctx, l, s)

		// Nobody is told of what a page does. Where to post is in no configuration, so everything but the app counts.
		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		var changed bool
		Expect(session.Evaluate(ctx, "() => { document.body.append('new'); console.log('new'); return true }", &changed)).To(Succeed(), "changing the page")
		attack.Alive(ctx, other)
		stop(ctx, s)
		Expect(l.Tap.To(int(l.AppAddr().Port()))).NotTo(BeEmpty(), "the control: connections to the app")
		own[other.Port] = true
		Expect(slices.DeleteFunc(l.Tap.All(), func(a lab.Attempt) bool { return own[int(a.To.Port())] })).
			To(BeEmpty(), "connections to others than the app, until the sidecar has stopped")
	})
}

// noLive wants an upgrade at /live to be treated like one to any other path (contract: live.unset).
func noLive(ctx SpecContext, l *lab.Lab, s *lab.Sidecar) {
	GinkgoHelper()
	upgrade := s.Get("/live").Add("Connection", "Upgrade").Add("Upgrade", "websocket").
		Add("Sec-WebSocket-Version", "13").Add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	page := upgrade.Without("Authorization")
	attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{
		{Did: "an upgrade at /live with the token", Request: upgrade, Want: []int{400, 404}},
		{Did: "an upgrade at /live by a page", Request: page.Add("Origin", "http://localhost:3000")},
		{Did: "an upgrade at /live by the app's page", Request: page.Add("Origin", l.AppURL(""))},
	})
}

// smallest starts a sidecar with token and app_url alone. Where the run was told that the target needs chromium_sandbox,
// that stays.
func smallest(ctx SpecContext, l *lab.Lab, env []string) *lab.Sidecar {
	GinkgoHelper()
	c, err := l.BaseConfig()
	engine.Harness(err)
	dir, _ := c["workdir"].(string)
	s, err := l.StartWith(ctx, c.With("workdir", nil), target.Options{Env: append(env, "TMPDIR="+dir)})
	Expect(err).NotTo(HaveOccurred(), "starting with a token and an app alone")
	return s
}
