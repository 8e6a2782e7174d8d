package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// many is the size of a large answer.
const many = 20

// publicPlaces are public addresses of one family, at each of which a site listens at the sites' port.
func publicPlaces(is4 bool) []netip.Addr {
	var all []netip.Addr
	for _, class := range []lab.Class{lab.Public, lab.Neighbour, lab.SpecialNeighbour, lab.PlatformNeighbour, lab.EmbeddedPublic} {
		for _, a := range lab.Of(class) {
			if a.Is4() == is4 {
				all = append(all, a)
			}
		}
	}
	return all
}

// crowdOf lists so many different public addresses, of IPv4 first. At those that the lab doesn't have, nothing answers.
func crowdOf(n int) []netip.Addr {
	all := publicPlaces(true)
	for next := netip.MustParseAddr("93.184.217.1"); len(all) < n; next = next.Next() {
		all = append(all, next)
	}
	return all[:n]
}

// splitAnswers scripts names whose answers have a private address among public ones: in each place, number and order, of
// the same family and of the other, for every answer alike and in another order each time.
func splitAnswers(l *lab.Lab) []string {
	GinkgoHelper()
	var names []string
	for i, private := range append(privates(), netip.MustParseAddr("::ffff:10.0.0.5"), netip.MustParseAddr("64:ff9b::169.254.169.254")) {
		public, crowd := []netip.Addr{l.Public(0)}, crowdOf(many-1)
		if private.Is6() {
			// The answer to one type of look-up is split, and so are both together.
			public = append(public, l.Public(3))
			crowd = append(crowdOf(many/2), publicPlaces(false)...)
		}
		other := netip.MustParseAddr("10.66.0.5")
		for layout, addrs := range map[string][]netip.Addr{
			"first":       slices.Concat([]netip.Addr{private}, public),
			"last":        slices.Concat(public, []netip.Addr{private}),
			"two":         slices.Concat(public, []netip.Addr{private, l.Public(1), other}),
			"many-first":  slices.Concat([]netip.Addr{private}, crowd),
			"many-middle": slices.Insert(slices.Clone(crowd), len(crowd)/2, private),
			"many-last":   slices.Concat(crowd, []netip.Addr{private}),
		} {
			for order, step := range map[string]dns.Step{"kept": dns.Answer(addrs...), "shuffled": dns.Answer(addrs...).Shuffle()} {
				name := fmt.Sprintf("%s-%s-%d.evil.test", layout, order, i)
				engine.Harness(l.DNS.Set(name, step))
				names = append(names, name)
			}
		}
		// The end of a chain is split.
		name := fmt.Sprintf("chained-%d.evil.test", i)
		engine.Harness(l.DNS.Set(name, dns.CNAME("end."+name, append(public, private)...)))
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// repetitions of each request: what an order decides must not pass by luck.
const repetitions = 10

func splitAnswer(l *lab.Lab) {
	// "When a name has public and private addresses, the private ones are never reached, in whatever order and number they
	// come."
	It("reaches no private address of a name with public ones too, by raw requests", engine.Clause("egress.split-answer"),
		SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			grantedRaw(ctx, p, allPublic(l))
			for _, name := range splitAnswers(l) {
				for n := range repetitions {
					// Sites listen at their own port only: at the canaries' port every public address is dead.
					authority := fmt.Sprintf("%s:%d", name, []int{lab.SitePort, lab.CanaryPort}[n%2])
					if n/2%2 == 0 {
						_, err := p.Do(ctx, plain(authority))
						Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "asking for %s", authority)
					} else {
						_, _, err := p.Connect(ctx, authority, "/status?code=200")
						Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "CONNECT %s", authority)
					}
				}
				Expect(l.DNS.QueriesFor(name)).NotTo(BeEmpty(), "the control: %s is looked up", name)
			}
			grantedRaw(ctx, p, allPublic(l))
			untouched(ctx, l, s, "asking for names with public and private addresses")
		})

	It("lets no page reach a private address of a name with public ones too", engine.Clause("egress.split-answer"),
		SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			pageBy(ctx, l, s, authorities(splitAnswers(l), lab.SitePort, lab.CanaryPort), 2)
		})
}

// allPublic is the control: names with as many addresses, all of them public.
func allPublic(l *lab.Lab) []string {
	GinkgoHelper()
	engine.Harness(l.DNS.Set("few.evil.test", dns.Answer(l.Public(0), l.Public(3))))
	engine.Harness(l.DNS.Set("many.evil.test", dns.Answer(append(publicPlaces(true), l.Public(3))...).Shuffle()))
	return authorities([]string{"few.evil.test", "many.evil.test"}, lab.SitePort)
}
