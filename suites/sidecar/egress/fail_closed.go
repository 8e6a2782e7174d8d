package egress

import (
	"fmt"
	"maps"
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

// withoutAddress are the answers that give a name no address, each at once.
func withoutAddress() map[string]dns.Step {
	cut := dns.Empty().Truncated()
	return map[string]dns.Step{
		"empty":        dns.Empty(),
		"servfail":     dns.Fail(dns.ServFail),
		"nxdomain":     dns.Fail(dns.NXDomain),
		"refused":      dns.Fail(dns.Refused),
		"notimp":       dns.Fail(dns.NotImp),
		"formerr":      dns.Fail(dns.FormErr),
		"dangling":     dns.CNAME("unknown.evil.test"),
		"other-owner":  privateAnswer().Owner("other.evil.test"),
		"other-class":  privateAnswer().Chaos(),
		"additional":   dns.Empty().Extra(privatePair()...),
		"referral":     dns.Referral("ns.evil.test").Extra(privatePair()...),
		"cut":          cut.OverTCP(cut),
		"cut-empty":    cut,
		"cut-servfail": cut.OverTCP(dns.Fail(dns.ServFail)),
		"cut-hung-up":  cut.OverTCP(dns.HangUp()),
	}
}

// privatePair is a private address of each family.
func privatePair() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("fd66::5")}
}

func privateAnswer() dns.Step { return dns.Answer(privatePair()...) }

// flipAfter scripts a name that gets the step n times, for each type, and a private address from then on.
func flipAfter(l *lab.Lab, name string, step dns.Step, n int) {
	GinkgoHelper()
	engine.Harness(l.DNS.Set(name, append(slices.Repeat([]dns.Step{step}, n), privateAnswer())...))
}

func failClosed(l *lab.Lab) {
	// "When the look-up that is checked gives no address (an empty answer, an error, …), nothing connects, whatever a later
	// look-up would say."
	It("connects nowhere for a raw request when a look-up gives no address", engine.Clause("egress.fail-closed"),
		SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			granted := func(moment string) {
				GinkgoHelper()
				for _, way := range rawWays() {
					name := way.name + "-" + moment + ".evil.test"
					flipAfter(l, name, dns.Answer(l.Public(0), l.Public(3)), 1)
					answer, err := way.ask(ctx, p, fmt.Sprintf("%s:%d", name, lab.SitePort))
					Expect(err).NotTo(HaveOccurred(), "the control: a name whose first look-up gives an address (%s)", way.name)
					Expect(answer).NotTo(BeEmpty(), "the control: a name whose first look-up gives an address (%s) is granted", way.name)
				}
			}
			granted("before")
			for form, step := range withoutAddress() {
				// A resolver may ask more than once for the one look-up that is checked.
				for _, n := range []int{1, 2, 3, 5} {
					for _, way := range rawWays() {
						name := fmt.Sprintf("%s-%d-%s.evil.test", form, n, way.name)
						flipAfter(l, name, step, n)
						refusedBy(ctx, way, p, fmt.Sprintf("%s:%d", name, lab.CanaryPort))
						Expect(l.DNS.QueriesFor(name)).NotTo(BeEmpty(), "the control: %s is looked up", name)
					}
				}
			}
			granted("afterwards")
			untouched(ctx, l, s, "asking the proxy for names whose look-up first gives no address and later a private one")
		})

	// One family says nothing of the other.
	It("connects nowhere when one family fails and the other is private", engine.Clause("egress.fail-closed"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		controlRaw(ctx, l, p)
		for form, step := range withoutAddress() {
			for _, failing := range []string{"A", "AAAA"} {
				for _, way := range rawWays() {
					name := fmt.Sprintf("%s-%s-%s.evil.test", form, failing, way.name)
					engine.Harness(l.DNS.SetFunc(name, func(q dns.Query) dns.Step {
						if q.Type == failing {
							return step
						}
						return privateAnswer()
					}))
					refusedBy(ctx, way, p, fmt.Sprintf("%s:%d", name, lab.CanaryPort))
				}
			}
		}
		controlRaw(ctx, l, p)
		untouched(ctx, l, s, "asking the proxy for names of which one family fails and the other is private")
	})

	It("connects nowhere for a page when a look-up gives no address", engine.Clause("egress.fail-closed"),
		SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			// Each name is asked for once, since a second request would make the later look-up.
			ways := []pages.Way{pages.Fetch, pages.Img, pages.Iframe, pages.WebSocket}
			var targets []pages.Target
			for i, form := range slices.Sorted(maps.Keys(withoutAddress())) {
				for _, way := range ways {
					name := fmt.Sprintf("%s-%s.evil.test", form, way)
					flipAfter(l, name, withoutAddress()[form], 1+i%3)
					targets = append(targets, pages.Target{
						Tag: name, URL: fmt.Sprintf("http://%s:%d/any", name, lab.CanaryPort), Ways: []pages.Way{way},
					})
				}
			}
			for _, way := range ways {
				name := fmt.Sprintf("granted-%s.evil.test", way)
				flipAfter(l, name, dns.Answer(l.Public(0), l.Public(3)), 1)
				targets = append(targets, pages.Target{Tag: name, URL: l.NameURL(name, "/any"), Ways: []pages.Way{way}})
			}
			attack.Page(ctx, l, s, targets)
			for _, way := range ways {
				Expect(attack.Arrived(l, fmt.Sprintf("granted-%s.evil.test", way), way)).To(BeTrue(),
					"the control: a name whose first look-up gives an address is reached by %s", way)
			}
			untouched(ctx, l, s, "opening a page that asks for names whose look-up first gives no address")
		})
}
