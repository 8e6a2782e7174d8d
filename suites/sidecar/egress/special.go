package egress

import (
	"net/netip"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// every lists the table's addresses of a class, those at which no canary can answer too.
func every(class lab.Class) []netip.Addr {
	var all []netip.Addr
	for _, a := range lab.Table() {
		if a.Class == class {
			all = append(all, a.Addr)
		}
	}
	return all
}

// withMapped adds the IPv4-mapped forms of the IPv4 addresses, which Linux dials as those.
func withMapped(addrs []netip.Addr) []netip.Addr {
	return append(slices.Clone(addrs), mapped(addrs)...)
}

func special(l *lab.Lab) {
	ranges, platform := withMapped(every(lab.Special)), withMapped(every(lab.Platform))
	for _, class := range []addressClass{
		// "No page reaches an address of the special ranges in the table above: 0.0.0.0/8, 100.64.0.0/10, 192.0.0.0/24,
		// 198.18.0.0/15, multicast, 240.0.0.0/4, broadcast, fec0::/10, ::."
		{
			clause: "egress.special", sentence: "an address of the special ranges",
			hosts: append(hostsOf(ranges), "0.5", "100.64.5", "0xf0.5", "0306.022.0.5", "4294967295", "100.64.0.5."),
			raw:   spellings(ranges), ends: ranges, ways: someWays,
		},
		// "No page reaches 168.63.129.16 or one of its embedded forms …"
		{
			clause: "egress.platform-address", sentence: "the platform's own address",
			hosts: append(hostsOf(platform), "168.4161808", "2822734096", "0xa83f8110", "0250.077.0201.020", "168.63.129.16."),
			raw:   spellings(platform), ends: platform, ways: someWays,
		},
	} {
		class.specs(l)
	}

	for _, row := range []struct {
		clause, sentence string
		class            lab.Class
	}{
		// "The neighbours of these ranges, such as 100.128.0.1, are public and work."
		{"egress.special", "the neighbours of the special ranges", lab.SpecialNeighbour},
		// "… while its neighbours work."
		{"egress.platform-address", "the neighbours of the platform's own address", lab.PlatformNeighbour},
	} {
		It("lets requests reach "+row.sentence, engine.Clause(row.clause), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			neighbours := lab.Of(row.class)
			hosts := slices.Concat(hostsOf(neighbours), ending(l, neighbours))
			grantedRaw(ctx, proxy(ctx, s), authorities(hosts, lab.SitePort))
			reached(ctx, l, s, authorities(hosts, lab.SitePort), pages.Fetch, pages.Iframe)
			untouched(ctx, l, s, "reaching "+row.sentence)
		})
	}
}
