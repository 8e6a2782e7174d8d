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

// forbidden are the addresses that the clauses with a spec call private.
func forbidden() []netip.Addr {
	var all []netip.Addr
	for _, class := range []lab.Class{lab.Loopback, lab.LinkLocal, lab.Private} {
		all = append(all, lab.Of(class)...)
	}
	return all
}

// privateNames scripts a name for each forbidden address by an A or AAAA record, by a CNAME, and by a chain of them.
func privateNames(l *lab.Lab) []string {
	GinkgoHelper()
	var all []string
	for i, a := range forbidden() {
		direct, alias, chain := fmt.Sprintf("direct%d.evil.test", i), fmt.Sprintf("alias%d.evil.test", i), fmt.Sprintf("chain%d.evil.test", i)
		engine.Harness(l.DNS.Set(direct, dns.Answer(a)))
		engine.Harness(l.DNS.Set(alias, dns.CNAME(direct)))
		next := alias
		for link := range 5 {
			step := fmt.Sprintf("link%d-%d.evil.test", link, i)
			engine.Harness(l.DNS.Set(step, dns.CNAME(next)))
			next = step
		}
		engine.Harness(l.DNS.Set(chain, dns.CNAME(next)))
		all = append(all, direct, alias, chain)
	}
	return all
}

func names(l *lab.Lab) {
	// "No page reaches a private destination by a name, whether an A record, an AAAA record or the end of a chain of CNAME
	// records leads there."
	It("lets no page reach a private destination by a name", engine.Clause("egress.name-private"), SpecTimeout(2*time.Minute),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			// A third of the names each way is enough for a page: the raw spec tries them all.
			var some []string
			for i, name := range privateNames(l) {
				if i%3 == (i/3)%3 {
					some = append(some, name)
				}
			}
			page(ctx, l, s, authorities(some, lab.CanaryPort))
		})

	It("lets no raw request to its proxy reach a private destination by a name", engine.Clause("egress.name-private"),
		SpecTimeout(90*time.Second), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			all := privateNames(l)
			// The control: a name of the same kind that ends at a public address is granted.
			engine.Harness(l.DNS.Set("granted.evil.test", dns.Answer(l.Public(0), l.Public(3))))
			engine.Harness(l.DNS.Set("chained.evil.test", dns.CNAME("granted.evil.test")))
			p := proxy(ctx, s)
			for _, name := range []string{"granted.evil.test", "chained.evil.test"} {
				answer, err := p.Do(ctx, plain(fmt.Sprintf("%s:%d", name, lab.SitePort)))
				Expect(err).NotTo(HaveOccurred(), "the control: asking the proxy for %s", name)
				Expect(answer.Status).To(Equal(200), "the control: asking the proxy for %s, a public name: %s", name, answer)
			}
			all = append(all, "DIRECT0.evil.test", "direct0.evil.test.", "Alias1.Evil.Test")
			refusedRaw(ctx, l, p, authorities(all, lab.CanaryPort))
			untouched(ctx, l, s, "asking the proxy for names of private destinations")
		})
}
