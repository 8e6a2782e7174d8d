package egress

import (
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

// localNames are names that mean something in a local network only, in any case, with and without a trailing dot.
func localNames() []string {
	return []string{
		"printer.local", "Printer.LOCAL", "printer.local.", "a.b.c.local", "local", "LOCAL.",
		"metadata.google.internal", "METADATA.Google.Internal", "host.docker.internal.", "ip-10-0-0-5.ec2.internal", "internal", "internal.",
		"router.home.arpa", "ROUTER.Home.Arpa", "a.b.home.arpa.", "intranet", "INTRANET", "intranet.", "wpad", "kubernetes", "xn--bcher-kva", "a-b_c",
	}
}

// similarNames only look like local ones.
func similarNames() []string {
	return []string{
		"internal.pub.test", "local.pub.test", "home.arpa.pub.test", "intranet.pub.test", "localx.test", "xlocal.test", "xinternal.test",
		"home-arpa.test", "printer.local.test",
	}
}

// answered scripts names to lead to a public site: a look-up of one would show, and so would a connection.
func answered(l *lab.Lab, names []string) {
	GinkgoHelper()
	for _, name := range names {
		engine.Harness(l.DNS.Set(name, dns.Answer(l.Public(0), l.Public(3))))
	}
}

// unasked wants neither a look-up of the names, as they are or below the search list, nor a request for them at a site.
func unasked(l *lab.Lab, did string, names []string) {
	GinkgoHelper()
	for _, name := range names {
		plain := strings.TrimSuffix(name, ".")
		Expect(l.DNS.QueriesFor(plain)).To(BeEmpty(), "%s: look-ups of %s", did, name)
		Expect(l.DNS.QueriesFor(plain+"."+lab.SearchDomain)).To(BeEmpty(), "%s: look-ups of %s below the search list", did, name)
		for _, r := range l.Sites.Requests() {
			host, _, _ := strings.Cut(r.Host, ":")
			Expect(strings.EqualFold(strings.TrimSuffix(host, "."), plain)).To(BeFalse(), "%s: a site was asked for %s", did, r.Host)
		}
	}
}

func localNamed(l *lab.Lab) {
	// "Names below local, internal and home.arpa, and names of a single label, are refused without a look-up."
	It("refuses local names at its proxy without a look-up", engine.Clause("egress.local-names"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		answered(l, append(localNames(), similarNames()...))
		engine.Harness(l.DNS.Set("*."+lab.SearchDomain, dns.Answer(l.Public(1))))
		refusedRaw(ctx, l, p, authorities(localNames(), lab.SitePort, lab.TLSPort, 80))
		grantedRaw(ctx, p, authorities(similarNames(), lab.SitePort))
		reached(ctx, l, s, authorities(similarNames(), lab.SitePort), pages.Fetch, pages.Iframe)
		for _, name := range similarNames() {
			Expect(l.DNS.QueriesFor(name)).NotTo(BeEmpty(), "the control: %s is looked up", name)
		}
		unasked(l, "asking the proxy for local names", localNames())
		untouched(ctx, l, s, "asking the proxy for local names")
	})

	It("lets no page reach a local name or have it looked up", engine.Clause("egress.local-names"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			answered(l, append(localNames(), similarNames()...))
			engine.Harness(l.DNS.Set("*."+lab.SearchDomain, dns.Answer(l.Public(1))))
			pageBy(ctx, l, s, authorities(localNames(), lab.SitePort), someWays)
			unasked(l, "opening a page that tries local names", localNames())
		})
}
