package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// inTime is what the contract gives a page to be answered or told of an error.
const inTime = 30 * time.Second

// Ports where nothing listens but what a spec itself opens.
const (
	halfPort = 8095 // IPv4 and IPv6 are alive at one address each
	mutePort = 8096 // IPv6 is silent
	deafPort = 8097 // IPv6 refuses
)

// twoAddresses is a name of which one address is dead and the other alive.
type twoAddresses struct {
	name  string
	port  int
	addrs []netip.Addr
}

func (t twoAddresses) authority() string { return fmt.Sprintf("%s:%d", t.name, t.port) }

// halfDead opens sites and silent places, and scripts names with a dead and a living address, by every kind of death and in
// both orders: nobody says which of them is tried first. It returns the dead places, too.
func halfDead(ctx context.Context, l *lab.Lab) (names []twoAddresses, dead []netip.AddrPort) {
	GinkgoHelper()
	openSites(ctx, placeAt(l.Public(0), halfPort), placeAt(l.Public(3), halfPort), placeAt(l.Public(0), mutePort), placeAt(l.Public(0), deafPort))
	muteAt(ctx, l, placeAt(l.Public(1), halfPort), placeAt(l.Public(3), mutePort))
	add := func(what string, port int, dying, living netip.Addr) {
		for order, addrs := range map[string][]netip.Addr{"first": {dying, living}, "last": {living, dying}} {
			t := twoAddresses{fmt.Sprintf("%s-%s.evil.test", what, order), port, addrs}
			engine.Harness(l.DNS.Set(t.name, dns.Answer(addrs...)))
			names = append(names, t)
		}
		dead = append(dead, placeAt(dying, port))
	}
	away4, away6 := netip.MustParseAddr("93.184.216.99"), netip.MustParseAddr("2606:2800:220:1::99")
	for what, living := range map[string]netip.Addr{"4": l.Public(0), "6": l.Public(3)} {
		add("silent4-alive"+what, halfPort, l.Public(1), living)
		add("refusing4-alive"+what, halfPort, l.Public(2), living)
		add("away4-alive"+what, halfPort, away4, living)
		add("away6-alive"+what, halfPort, away6, living)
	}
	add("silent6-alive4", mutePort, l.Public(3), l.Public(0))
	add("refusing6-alive4", deafPort, l.Public(3), l.Public(0))
	return names, dead
}

func placeAt(a netip.Addr, port int) netip.AddrPort { return netip.AddrPortFrom(a, uint16(port)) } //nolint:gosec // a port

// openSites opens a site of the spec's own.
func openSites(ctx context.Context, places ...netip.AddrPort) {
	GinkgoHelper()
	var listens []app.Listen
	for _, place := range places {
		listens = append(listens, app.Listen{Addr: place})
	}
	sites, err := app.Start(ctx, listens, app.Options{Pages: pages.FS()})
	engine.Harness(err)
	DeferCleanup(sites.Close)
}

// muteAt lets every packet to the places vanish.
func muteAt(ctx context.Context, l *lab.Lab, places ...netip.AddrPort) {
	GinkgoHelper()
	for _, place := range places {
		listener, err := l.Silence(ctx, place)
		engine.Harness(err)
		DeferCleanup(listener.Close)
	}
}

// tried lists where connections to the ports were tried, but by the suite.
func tried(ctx context.Context, s *lab.Sidecar, ports ...int) []netip.AddrPort {
	GinkgoHelper()
	var places []netip.AddrPort
	for _, port := range ports {
		attempts, err := s.Attempts(ctx, port)
		engine.Harness(err)
		for _, a := range attempts {
			places = append(places, a.To)
		}
	}
	return places
}

// askedAtOnce is what became of one raw request beside others.
type askedAtOnce struct {
	did     string
	granted string
	err     error
	took    time.Duration
}

// atOnce asks the proxy for every authority by both ways, all at the same time, and waits for the last one.
func atOnce(ctx context.Context, p *lab.Proxy, authorities []string) []askedAtOnce {
	ctx, cancel := context.WithTimeout(ctx, inTime+5*time.Second)
	defer cancel()
	var asking sync.WaitGroup
	ways := rawWays()
	all := make([]askedAtOnce, len(authorities)*len(ways))
	for i, authority := range authorities {
		for j, way := range ways {
			asking.Go(func() {
				begun := time.Now()
				granted, err := way.ask(ctx, p, authority)
				all[i*len(ways)+j] = askedAtOnce{
					fmt.Sprintf("asking the proxy for %s (%s)", authority, way.name), granted, err, time.Since(begun),
				}
			})
		}
	}
	asking.Wait()
	return all
}

func fallback(l *lab.Lab) {
	// "When the first of several public addresses is dead, the name is reached by another within 30 seconds."
	It("reaches a name by another address when one is dead", engine.Clause("egress.fallback"), SpecTimeout(2*time.Minute),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			names, dead := halfDead(ctx, l)
			var authorities []string
			for _, t := range names {
				authorities = append(authorities, t.authority())
			}
			for _, a := range atOnce(ctx, p, authorities) {
				Expect(a.err).NotTo(HaveOccurred(), "%s, of which one address is dead", a.did)
				Expect(a.granted).NotTo(BeEmpty(), "%s, of which one address is dead: it is granted", a.did)
				Expect(a.took).To(BeNumerically("<", inTime), "the time of %s, of which one address is dead", a.did)
			}
			places := tried(ctx, s, halfPort, mutePort, deafPort)
			if !slices.ContainsFunc(places, func(to netip.AddrPort) bool { return slices.Contains(dead, to) }) {
				engine.CouldNotRun("the target tried none of the dead addresses, in whatever order they came")
			}
			attack.Alive(ctx, s)
		})

	It("lets a page reach a name by another address when one is dead", engine.Clause("egress.fallback"), SpecTimeout(2*time.Minute),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			names, _ := halfDead(ctx, l)
			reach, attempts := pages.Reach{Timeout: inTime, Parallel: 64}, 0
			for _, t := range names {
				ways := []pages.Way{pages.Fetch}
				if strings.HasPrefix(t.name, "silent") { // Chromium opens one WebSocket after the other
					ways = append(ways, pages.WebSocket)
				}
				reach.Targets = append(reach.Targets, pages.Target{Tag: t.name, URL: "http://" + t.authority() + "/any", Ways: ways})
				attempts += len(ways)
			}
			var results []pages.Result
			attack.Open(ctx, l, s, "/half-dead", reach, reach.Longest(), &results)
			Expect(results).To(HaveLen(attempts), "the page's attempts")
			for _, r := range results {
				Expect(r.Outcome).To(Equal(pages.OK), "reaching %s, of which one address is dead, by %s from a page: %s", r.Tag, r.Way, r.Detail)
			}
			attack.Alive(ctx, s)
		})

	// "Only checked addresses are tried."
	It("tries no address that it did not check when one is dead", engine.Clause("egress.fallback"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			openSites(ctx, placeAt(l.Public(0), halfPort))
			muteAt(ctx, l, placeAt(l.Public(1), halfPort))
			var authorities []string
			for i, private := range privates() {
				for script, steps := range map[string][]dns.Step{
					"silent":   {dns.Answer(l.Public(1), private, l.Public(0))},
					"refusing": {dns.Answer(l.Public(2), private, l.Public(0))},
					"private":  {dns.Answer(private, l.Public(2), l.Public(0))},
					"later":    {dns.Answer(l.Public(2)), privateAnswer()},
					"later6":   {dns.Answer(l.Public(2), l.Public(3)), privateAnswer()},
				} {
					name := fmt.Sprintf("%s-%d.evil.test", script, i)
					engine.Harness(l.DNS.Set(name, steps...))
					authorities = append(authorities, fmt.Sprintf("%s:%d", name, halfPort))
				}
			}
			for _, a := range atOnce(ctx, p, authorities) {
				Expect(a.err).To(Or(BeNil(), Satisfy(attack.HungUp)), "%s: an answer, or the connection closed", a.did)
			}
			public := []netip.Addr{l.Public(0), l.Public(1), l.Public(2), l.Public(3)}
			for _, to := range tried(ctx, s, halfPort) {
				Expect(public).To(ContainElement(to.Addr()), "where a connection was tried for names with a dead and a private address")
			}
			controlRaw(ctx, l, p)
			untouched(ctx, l, s, "asking the proxy for names with a dead and a private address")
		})
}
