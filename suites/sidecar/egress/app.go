package egress

import (
	"fmt"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func appExempt(l *lab.Lab) {
	// "The app's own host and port work, on a loopback or private address too."
	It("lets pages reach the app", engine.Clause("egress.app-exempt"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		var text string
		Expect(session.Evaluate(ctx, "() => fetch('/cors?from=page').then(r => r.text())", &text)).To(Succeed(), "fetching from the app")
		Expect(l.Sites.RequestsTo(l.AppAddr().String(), "/cors")).To(HaveLen(1), "the page's request at the app")
		p := proxy(ctx, s)
		answer, err := p.Do(ctx, plain(l.AppAddr().String()))
		Expect(err).NotTo(HaveOccurred(), "asking the proxy for the app")
		Expect(answer.Status).To(Equal(200), "asking the proxy for the app: %s", answer)
		tunnel, answer, err := p.Connect(ctx, l.AppAddr().String(), "/status?code=200")
		Expect(err).NotTo(HaveOccurred(), "asking the proxy for a tunnel to the app")
		Expect(tunnel).To(BeTrue(), "asking the proxy for a tunnel to the app: %s", answer)
		untouched(ctx, l, s, "using the app")
	})

	// "The same host on another port … do[es] not."
	It("exempts no other port of the app's host", engine.Clause("egress.app-exempt"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		host := l.AppAddr().Addr().String()
		ports := []int{80, lab.CanaryPort, lab.SitePort, 443, lab.TLSPort}
		refusedRaw(ctx, l, proxy(ctx, s), authorities([]string{host}, ports...))
		page(ctx, l, s, authorities([]string{host}, lab.CanaryPort, lab.SitePort))
	})

	// "… and another name of the same host, do not."
	It("exempts no other name of the app's host", engine.Clause("egress.app-exempt"), SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		port := int(l.AppAddr().Port())
		engine.Harness(l.DNS.Set("other.evil.test", dns.Answer(l.AppAddr().Addr())))
		engine.Harness(l.DNS.Set("alias.evil.test", dns.CNAME("other.evil.test")))
		refusedRaw(ctx, l, proxy(ctx, s), authorities([]string{
			"localhost", "sub.localhost", "127.0.0.2", "[::1]", "other.evil.test", "alias.evil.test", "127.0.0.1.evil.test",
			"evil.127.0.0.1", "[::ffff:127.0.0.1]",
		}, port))
		untouched(ctx, l, s, "asking the proxy for the app by other names")
		page(ctx, l, s, authorities([]string{
			"localhost", "sub.localhost", "127.0.0.2", "[::1]", "other.evil.test", "alias.evil.test", "127.0.0.1.evil.test", "0.0.0.0",
			"[::ffff:127.0.0.1]",
		}, port))
		for _, r := range l.Sites.Requests() {
			if r.Listener == l.AppAddr() {
				Expect(r.Host).To(Equal(l.AppAddr().String()), "the Host of a request that reached the app")
			}
		}
	})

	// "… on a loopback or private address too."
	It("exempts an app at a private address and nothing beside it", engine.Clause("egress.app-exempt"), func(ctx SpecContext) {
		// A canary is the app here: what it is asked shows that the app was reached.
		place := netip.AddrPortFrom(netip.MustParseAddr("10.66.0.5"), l.AppAddr().Port())
		authority, port := place.String(), int(place.Port())
		s := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("app_url", "http://"+authority) })
		p := proxy(ctx, s)
		answer, err := p.Do(ctx, plain(authority))
		Expect(err).NotTo(HaveOccurred(), "asking the proxy for the app at %s", authority)
		Expect(answer.Status).To(Equal(200), "asking the proxy for the app at %s: %s", authority, answer)
		engine.Harness(l.Canaries.Settle(ctx, place))
		Expect(l.Canaries.Hits()).NotTo(BeEmpty(), "the request at the app's private address")
		refusedRaw(ctx, l, p, append(authorities([]string{"10.0.0.5", "[::ffff:10.66.0.5]", "169.254.169.254"}, port),
			authorities([]string{place.Addr().String()}, 80, lab.CanaryPort, 443)...))
		untouched(ctx, l, s, "asking the proxy for what is beside an app at a private address", place)
	})

	// "The app's own host and port work …"
	It("exempts an app by the name of its URL and no other", engine.Clause("egress.app-exempt"), func(ctx SpecContext) {
		engine.Harness(l.DNS.Set("app.evil.test", dns.Answer(l.AppAddr().Addr())))
		engine.Harness(l.DNS.Set("x.app.evil.test", dns.Answer(l.AppAddr().Addr())))
		port := int(l.AppAddr().Port())
		s := attack.Start(ctx, l, func(c lab.Config) lab.Config {
			return c.With("app_url", fmt.Sprintf("http://app.evil.test:%d/some/path", port))
		})
		p := proxy(ctx, s)
		for _, authority := range authorities([]string{"app.evil.test", "APP.evil.test"}, port) {
			answer, err := p.Do(ctx, plain(authority))
			Expect(err).NotTo(HaveOccurred(), "asking the proxy for the app as %s", authority)
			Expect(answer.Status).To(Equal(200), "asking the proxy for the app as %s: %s", authority, answer)
		}
		refusedRaw(ctx, l, p, append(authorities([]string{"127.0.0.1", "x.app.evil.test", "localhost"}, port),
			authorities([]string{"app.evil.test"}, lab.CanaryPort)...))
		untouched(ctx, l, s, "asking the proxy for an app by other names and ports")
	})
}
