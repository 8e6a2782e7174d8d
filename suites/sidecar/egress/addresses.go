package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// loopbackHosts are the loopback addresses of the table and their spellings.
func loopbackHosts() []string {
	return append(hostsOf(lab.Of(lab.Loopback)),
		"localhost", "LOCALHOST", "localhost.", "sub.localhost", "a.b.localhost.", "0.0.0.0", "0", "127.1", "127.0.1", "2130706433",
		"0x7f000001", "0x7F.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[0:0:0:0:0:ffff:127.0.0.2]", "[0000:0000:0000:0000:0000:0000:0000:0001]")
}

// zonedLoopbackHosts are loopback addresses with a zone or in a spelling that a page's browser would rewrite or refuse.
func zonedLoopbackHosts() []string {
	return []string{
		"[::1%25lo]", "[::1%lo]", "[::1%25.pub.test]", "[::ffff:127.0.0.1%25x]", "0177.1", "x.localhost.", "[::ffff:7f00:0001]",
	}
}

// linkLocalHosts are the link-local addresses of the table and their spellings.
func linkLocalHosts() []string {
	return append(hostsOf(lab.Of(lab.LinkLocal)),
		"169.254.43518", "169.16689662", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.169.254.", "[::ffff:169.254.169.254]",
		"[::ffff:a9fe:a9fe]")
}

// zonedHosts are link-local addresses with a zone, which only raw requests can carry.
func zonedHosts() []string {
	return []string{"[fe80::5]", "[fe80::5%25lo]", "[fe80::5%lo]", "[fe80::5%251]", "[FE80::5%25lo]"}
}

// privateHosts are the private addresses of the table and their spellings.
func privateHosts() []string {
	return append(hostsOf(lab.Of(lab.Private)), "10.5", "10.0.5", "167772165", "0x0a000005", "012.0.0.5", "0xac.0x10.0.5", "192.168.5",
		"3232235525", "[::ffff:10.0.0.5]", "[::ffff:c0a8:5]", "[FD66:0:0:0:0:0:0:5]", "10.0.0.5.")
}

// hostsOf writes addresses as they stand in a URL.
func hostsOf(addrs []netip.Addr) []string {
	var hosts []string
	for _, a := range addrs {
		host := a.String()
		if a.Is6() {
			host = "[" + host + "]"
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// authorities puts every host at the ports where canaries listen.
func authorities(hosts []string, ports ...int) []string {
	var all []string
	for _, host := range hosts {
		for _, port := range ports {
			all = append(all, fmt.Sprintf("%s:%d", host, port))
		}
	}
	return all
}

// addressClass is what one clause says that no page reaches, in every form that a page or a raw request can give it.
type addressClass struct {
	clause, sentence string
	hosts            []string     // as they stand in a URL
	raw              []string     // what only raw requests can carry, or what a page's browser would make one of hosts of
	ends             []netip.Addr // addresses at which names end
	ways             int          // that a page tries each host by
}

func (c addressClass) specs(l *lab.Lab) {
	It("lets no page reach "+c.sentence, engine.Clause(c.clause), SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		pageBy(ctx, l, s, authorities(slices.Concat(c.hosts, ending(l, c.ends)), lab.CanaryPort), c.ways)
	})

	It("lets no raw request to its proxy reach "+c.sentence, engine.Clause(c.clause), SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		all := authorities(slices.Concat(c.hosts, c.raw, ending(l, c.ends)), 80, lab.CanaryPort, 443)
		refusedRaw(ctx, l, proxy(ctx, s), all)
		untouched(ctx, l, s, "asking the proxy for "+c.sentence)
	})
}

// ending scripts a name for each address, which ends there by an A or an AAAA record.
func ending(l *lab.Lab, addrs []netip.Addr) []string {
	GinkgoHelper()
	var all []string
	for i, a := range addrs {
		name := fmt.Sprintf("end%d.evil.test", i)
		engine.Harness(l.DNS.Set(name, dns.Answer(a)))
		all = append(all, name)
	}
	return all
}

func addresses(l *lab.Lab) {
	everyWay := len(pages.Ways())
	for _, class := range []addressClass{
		// "No page reaches a loopback address: not as 127.0.0.1 or another of 127.0.0.0/8, localhost or a name below it, [::1],
		// 0.0.0.0, 127.1, a decimal, hexadecimal or octal spelling, or an IPv4-mapped form."
		{clause: "egress.loopback", sentence: "a loopback address", hosts: loopbackHosts(), raw: zonedLoopbackHosts(), ways: everyWay},
		// "No page reaches a link-local address: 169.254.169.254 and the rest of 169.254.0.0/16, and fe80::/10 with or without a
		// zone."
		{clause: "egress.link-local", sentence: "a link-local address", hosts: linkLocalHosts(), raw: zonedHosts(), ways: everyWay},
		// "No page reaches an address in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or fc00::/7."
		{clause: "egress.private", sentence: "a private address", hosts: privateHosts(), ways: everyWay},
	} {
		class.specs(l)
	}

	// "The neighbours of these ranges, such as 172.32.0.1, are public and work."
	It("lets requests reach the neighbours of the private networks", engine.Clause("egress.private"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		grantedRaw(ctx, proxy(ctx, s), authorities(hostsOf(lab.Of(lab.Neighbour)), lab.SitePort))
	})
}

// page tries every authority by every way that a page has.
func page(ctx context.Context, l *lab.Lab, s *lab.Sidecar, authorities []string) {
	GinkgoHelper()
	pageBy(ctx, l, s, authorities, len(pages.Ways()))
}

// pageBy tries every authority by so many of the ways that a page has, each by others than the one before it.
func pageBy(ctx context.Context, l *lab.Lab, s *lab.Sidecar, authorities []string, each int) {
	GinkgoHelper()
	all := pages.Ways()
	var targets []pages.Target
	for i, authority := range authorities {
		target := pages.Target{Tag: fmt.Sprintf("target-%d", i), URL: "http://" + authority + "/any"}
		for n := range each {
			target.Ways = append(target.Ways, all[(i*each+n)%len(all)])
		}
		targets = append(targets, target)
	}
	attack.Page(ctx, l, s, targets)
	untouched(ctx, l, s, "opening a page that tries them by every way")
}
