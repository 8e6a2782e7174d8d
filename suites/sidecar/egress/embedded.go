package egress

import (
	"net/netip"
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

// mapped are the IPv4-mapped forms of the IPv4 addresses among addrs. Linux dials such a form as the IPv4 address itself.
func mapped(addrs []netip.Addr) []netip.Addr {
	var all []netip.Addr
	for _, a := range addrs {
		if a.Is4() {
			all = append(all, netip.AddrFrom16(a.As16()))
		}
	}
	return all
}

// spellings writes each IPv6 address in the ways of RFC 4291 §2.2 that a page's browser would make one of: in full, in
// upper case, and with its last 32 bits as an IPv4 address, the rest compressed or not.
func spellings(addrs []netip.Addr) []string {
	var all []string
	for _, a := range addrs {
		if !a.Is6() {
			continue
		}
		full := a.StringExpanded()
		if a.Is4In6() { // which netip writes dotted
			full = "0000:0000:0000:0000:0000:ffff:" + hextets(a)
		}
		b := a.As16()
		dotted := full[:len(full)-len("0000:0000")] + netip.AddrFrom4([4]byte(b[12:])).String()
		all = append(all, "["+full+"]", "["+strings.ToUpper(full)+"]", "["+dotted+"]")
		if short, ok := strings.CutPrefix(dotted, "0000:0000:0000:0000:0000:"); ok {
			all = append(all, "[::"+strings.TrimPrefix(short, "0000:")+"]")
		}
	}
	return all
}

// hextets writes the last 32 bits of an address.
func hextets(a netip.Addr) string {
	b := a.As16()
	b[10], b[11] = 0, 0
	full := netip.AddrFrom16(b).StringExpanded()
	return full[len(full)-len("0000:0000"):]
}

// someWays are enough of a page's ways for each of many hosts that differ in their bytes only: all are tried by some host.
const someWays = 4

func embedded(l *lab.Lab) {
	// Chromium writes IPv6 addresses its own way, so that the other spellings of an address are for raw requests.
	private := append(lab.Of(lab.Embedded), mapped(forbidden())...)
	rare := lab.Of(lab.EmbeddedRare)
	for _, class := range []addressClass{
		// "No page reaches a loopback, link-local or private address by its IPv4-mapped, IPv4-compatible or NAT64 (64:ff9b::/96)
		// form."
		{
			clause: "egress.embedded", sentence: "a private address by its mapped, compatible or NAT64 form",
			hosts: append(hostsOf(private), "[::ffff:a00:5]", "[64:ff9b::10.0.0.5]", "[::ffff:0.0.0.0]"), raw: spellings(private), ends: private, ways: someWays,
		},
		// "No page reaches a loopback, link-local or private address by its 6to4, Teredo, local NAT64 (64:ff9b:1::/48) or
		// translated (::ffff:0:0:0/96) form." "In 64:ff9b:1::/48 the IPv4 address can lie in the lowest 32 bits or where RFC 6052
		// puts it for a /48. Both count."
		{
			clause: "egress.embedded-rare", sentence: "a private address by its 6to4, Teredo, local NAT64 or translated form",
			hosts: hostsOf(rare), raw: spellings(rare), ends: rare, ways: someWays,
		},
	} {
		class.specs(l)
	}

	// "A NAT64 (64:ff9b::/96) form of a public address works."
	It("lets a NAT64 form of a public address work", engine.Clause("egress.embedded-public"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			public := lab.Of(lab.EmbeddedPublic)
			engine.Harness(l.DNS.Set("synthesized.evil.test", dns.Answer(public[0])))
			hosts := append(hostsOf(public), "synthesized.evil.test")
			grantedRaw(ctx, proxy(ctx, s), authorities(append(hosts, spellings(public)...), lab.SitePort))
			reached(ctx, l, s, authorities(hosts, lab.SitePort), pages.Fetch, pages.Img, pages.Iframe, pages.EventSource)
			for _, r := range l.Sites.RequestsTo("synthesized.evil.test", "/any") {
				Expect(r.Listener.Addr()).To(Equal(public[0]), "where a request arrives whose name ends at %s", public[0])
			}
			untouched(ctx, l, s, "reaching NAT64 forms of public addresses")
		})
}
