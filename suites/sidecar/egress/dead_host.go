package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// deadHosts are authorities of hosts that refuse, of one that is away, and of silent ones, by address and by name.
func deadHosts(ctx context.Context, l *lab.Lab) []string {
	GinkgoHelper()
	mute, refusing, away := l.Public(1), l.Public(2), netip.MustParseAddr("93.184.216.99")
	muteAt(ctx, l, placeAt(mute, halfPort), placeAt(l.Public(3), mutePort))
	for name, a := range map[string]netip.Addr{"mute.evil.test": mute, "refusing.evil.test": refusing, "away.evil.test": away} {
		engine.Harness(l.DNS.Set(name, dns.Answer(a)))
	}
	hosts := []string{lab.Authority(l.Public(3), mutePort), lab.Authority(l.Public(3), deafPort)}
	for _, host := range []string{mute.String(), "mute.evil.test", refusing.String(), "refusing.evil.test", away.String(), "away.evil.test"} {
		hosts = append(hosts, fmt.Sprintf("%s:%d", host, halfPort))
	}
	return hosts
}

func deadHost(l *lab.Lab) {
	// "A host that refuses connections or never answers them is an error … within 30 seconds, and other connections go on
	// meanwhile."
	It("answers a raw request for a dead host with an error, and others meanwhile", engine.Clause("egress.dead-host"),
		SpecTimeout(90*time.Second), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			hosts := slices.Repeat(deadHosts(ctx, l), 3)
			asking := make(chan []askedAtOnce, 1)
			go func() { asking <- atOnce(ctx, p, hosts) }()
			// Once the silent ones are being tried, the living must be as quick as ever.
			Eventually(ctx, func() []netip.AddrPort { return tried(ctx, s, halfPort) }).WithTimeout(promptly).
				Should(ContainElement(placeAt(l.Public(1), halfPort)), "the control: a connection to a silent host is tried")
			for range 5 {
				livesOn(ctx, l, p)
			}
			for _, a := range <-asking {
				refusal(a.did+", which is dead", a.granted, a.err)
				Expect(a.took).To(BeNumerically("<", inTime), "the time of %s, which is dead", a.did)
			}
			livesOn(ctx, l, p)
			attack.Alive(ctx, s)
		})

	It("gives a page an error for a dead host, and others meanwhile", engine.Clause("egress.dead-host"), SpecTimeout(2*time.Minute),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			// The ways that show an error to a page. More would wait for each other in the browser itself: it opens few
			// connections to a host at once, and one WebSocket after the other.
			ways := []pages.Way{pages.Fetch, pages.Img, pages.Script, pages.Stylesheet}
			reach := pages.Reach{Timeout: inTime, Parallel: 64}
			target := func(url string, ways ...pages.Way) {
				reach.Targets = append(reach.Targets, pages.Target{Tag: url, URL: url, Ways: ways})
			}
			for _, host := range deadHosts(ctx, l) {
				target("http://"+host+"/any", ways...)
			}
			target(fmt.Sprintf("https://mute.evil.test:%d/any", halfPort), pages.Fetch, pages.EventSource)
			target(fmt.Sprintf("https://refusing.evil.test:%d/any", halfPort), pages.Fetch, pages.EventSource, pages.WebSocket)
			living := map[string]bool{l.PublicURL(0, "/any"): true, l.NameURL("www."+lab.PublicName, "/any"): true, l.AppURL("/any"): true}
			for url := range living {
				target(url, ways...)
			}
			var results []pages.Result
			attack.Open(ctx, l, s, "/dead", reach, reach.Longest(), &results)
			for _, r := range results {
				want := pages.Failed
				if living[r.Tag] {
					want = pages.OK
				}
				Expect(r.Outcome).To(Equal(want), "what a page sees of %s by %s within %s: %s", r.Tag, r.Way, inTime, r.Detail)
			}
			attack.Alive(ctx, s)
		})
}

// livesOn wants a public site and the app to be reached promptly.
func livesOn(ctx context.Context, l *lab.Lab, p *lab.Proxy) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	controlRaw(ctx, l, p)
	for _, authority := range []string{fmt.Sprintf("www.%s:%d", lab.PublicName, lab.SitePort), l.AppAddr().String()} {
		answer, err := p.Do(ctx, plain(authority))
		Expect(err).NotTo(HaveOccurred(), "asking for %s while dead hosts are waited for", authority)
		Expect(answer.Status).To(Equal(200), "asking for %s while dead hosts are waited for: %s", authority, answer)
	}
}
