package egress

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// searched scripts two kinds of names: found are there as they stand, and lost are not. Every name below the machine's
// search list leads to public sites of its own.
func searched(l *lab.Lab) (found, lost []string) {
	GinkgoHelper()
	found = []string{"found.evil.test", "a.b.found.evil.test", "evil.test", "sub.evil.test."}
	lost = []string{"lost.evil.test", "lost.evil.test.", "empty.evil.test", "failing.evil.test", "x.y", "lonely"}
	for _, name := range found {
		engine.Harness(l.DNS.Set(name, dns.Answer(l.Public(0))))
	}
	engine.Harness(l.DNS.Set("empty.evil.test", dns.Empty()))
	engine.Harness(l.DNS.Set("failing.evil.test", dns.Fail(dns.ServFail)))
	engine.Harness(l.DNS.Set("*."+lab.SearchDomain, dns.Answer(l.Public(1), l.Public(3))))
	return found, lost
}

// absolute wants no look-up below the search list, and each name's requests at the site that the name itself leads to.
func absolute(l *lab.Lab, did string, found, lost []string) {
	GinkgoHelper()
	for _, name := range slices.Concat(found, lost) {
		below := strings.TrimSuffix(name, ".") + "." + lab.SearchDomain
		Expect(l.DNS.QueriesFor(below)).To(BeEmpty(), "%s: look-ups of %s", did, below)
	}
	for _, r := range l.Sites.Requests() {
		Expect(r.Listener.Addr()).NotTo(BeElementOf(l.Public(1), l.Public(3)), "%s: where the request for %s arrives", did, r.Host)
	}
	for _, name := range found {
		Expect(l.DNS.QueriesFor(name)).NotTo(BeEmpty(), "%s: %s is looked up", did, name)
	}
}

func searchList(l *lab.Lab) {
	// "Names of pages are looked up as absolute names; the machine's search list is not applied."
	It("looks names up as absolute ones for raw requests", engine.Clause("egress.no-search-list"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		found, lost := searched(l)
		grantedRaw(ctx, p, authorities(found, lab.SitePort))
		refusedRaw(ctx, l, p, authorities(lost, lab.SitePort))
		absolute(l, "asking the proxy for names that the search list has too", found, lost)
		attack.Alive(ctx, s)
	})

	It("looks names up as absolute ones for pages", engine.Clause("egress.no-search-list"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		found, lost := searched(l)
		reached(ctx, l, s, authorities(found, lab.SitePort), pages.Fetch, pages.Img, pages.Iframe)
		absolute(l, "opening a page that tries names that the search list has too", found, lost)
	})

	It("finds for pages no names that only the search list has", engine.Clause("egress.no-search-list"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			_, lost := searched(l)
			pageBy(ctx, l, s, authorities(lost, lab.SitePort), someWays)
			absolute(l, "opening a page that tries names that only the search list has", nil, lost)
		})
}
