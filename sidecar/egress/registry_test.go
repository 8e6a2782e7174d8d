package egress

import (
	"net/netip"
	"strings"
	"testing"
)

// lastOf returns the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// A registered range is a row of IANA's special-purpose registries (as of 2025-10), or another that no public host is in.
type registered struct {
	prefix        string
	reachable     bool   // IANA's "Globally Reachable"
	before, after bool   // whether the address before the range and the one after it pass
	kind          string // what the policy calls its last address; empty where the range passes
	why           string // it is refused although it is reachable
}

// registry is written apart from the policy's tables.
var registry = []registered{
	{"0.0.0.0/8", false, false, true, "this network", ""},
	{"0.0.0.0/32", false, false, false, "this network", ""},
	{"10.0.0.0/8", false, true, true, "private", ""},
	{"100.64.0.0/10", false, true, true, "shared", ""},
	{"127.0.0.0/8", false, true, true, "loopback", ""},
	{"169.254.0.0/16", false, true, true, "link-local", ""},
	{"172.16.0.0/12", false, true, true, "private", ""},
	{"192.0.0.0/24", false, true, true, "protocol", ""},
	{"192.0.0.0/29", false, true, false, "protocol", ""},
	{"192.0.0.8/32", false, false, false, "protocol", ""},
	{"192.0.0.9/32", true, false, false, "protocol", "a port control server: the network's own, and no page's"},
	{"192.0.0.10/32", true, false, false, "protocol", "a TURN server: the network's own, and no page's"},
	{"192.0.0.170/32", false, false, false, "protocol", ""},
	{"192.0.0.171/32", false, false, false, "protocol", ""},
	{"192.0.2.0/24", false, true, true, "documentation", ""},
	{"192.31.196.0/24", true, true, true, "", ""}, // AS112
	{"192.52.193.0/24", true, true, true, "", ""}, // AMT
	{"192.88.99.0/24", false, true, true, "6to4", ""},
	{"192.88.99.2/32", false, false, false, "6to4", ""},
	{"192.168.0.0/16", false, true, true, "private", ""},
	{"192.175.48.0/24", true, true, true, "", ""}, // AS112
	{"198.18.0.0/15", false, true, true, "benchmarking", ""},
	{"198.51.100.0/24", false, true, true, "documentation", ""},
	{"203.0.113.0/24", false, true, true, "documentation", ""},
	{"240.0.0.0/4", false, false, false, "reserved", ""},
	{"255.255.255.255/32", false, false, false, "broadcast", ""},

	{"::1/128", false, false, false, "loopback", ""},
	{"::/128", false, false, false, "unspecified", ""},
	// The ends of a range that carries IPv4 addresses are forms of 0.0.0.0 and 255.255.255.255.
	{"::ffff:0:0/96", false, false, false, "reserved", ""},
	{"64:ff9b::/96", true, false, false, "reserved", "each address is judged by the IPv4 one in it"},
	{"64:ff9b:1::/48", false, false, false, "translator", ""},
	{"100::/64", false, false, false, "discard", ""},
	{"100:0:0:1::/64", false, false, false, "dummy", ""},
	{"2001::/23", false, true, true, "protocol", ""},
	{"2001::/32", false, true, false, "Teredo", ""},
	{"2001:1::1/128", true, false, false, "protocol", "a port control server: the network's own, and no page's"},
	{"2001:1::2/128", true, false, false, "protocol", "a TURN server: the network's own, and no page's"},
	{"2001:1::3/128", true, false, false, "protocol", "a service registry: the network's own, and no page's"},
	{"2001:2::/48", false, false, false, "protocol", ""},
	{"2001:3::/32", true, false, false, "protocol", "AMT: multicast relays, no web servers"},
	{"2001:4:112::/48", true, false, false, "protocol", "AS112: name servers for private names"},
	{"2001:10::/28", false, false, false, "protocol", ""},
	{"2001:20::/28", true, false, false, "protocol", "ORCHIDv2: keys, not places"},
	{"2001:30::/28", true, false, false, "protocol", "DRIP: tags of aircraft, not places"},
	{"2001:db8::/32", false, true, true, "documentation", ""},
	{"2002::/16", false, true, true, "reserved", ""},
	{"2620:4f:8000::/48", true, true, true, "", ""}, // AS112
	{"3fff::/20", false, true, true, "documentation", ""},
	{"5f00::/16", false, false, false, "segment", ""},
	{"fc00::/7", false, false, false, "private", ""},
	{"fe80::/10", false, false, false, "link-local", ""},

	// Beside the registries: multicast, what is deprecated or was never handed out, and a cloud's platform address.
	{"168.63.129.16/32", false, true, true, "cloud platform", ""},
	{"224.0.0.0/4", false, true, false, "multicast", ""},
	{"::/96", false, false, false, "IPv4-compatible", ""},
	{"::ffff:0:0:0/96", false, false, false, "translated", ""},
	{"fec0::/10", false, false, false, "site-local", ""},
	{"ff00::/8", false, false, false, "multicast", ""},
	{"4000::/2", false, true, false, "not a public", ""},
	{"8000::/1", false, false, false, "multicast", ""},
}

func TestEveryRegisteredRangeIsJudgedFromItsFirstAddressToItsLast(t *testing.T) {
	passes := func(addr netip.Addr) bool { return forbidden(addr) == "" }
	for _, row := range registry {
		prefix := netip.MustParsePrefix(row.prefix)
		for _, addr := range []netip.Addr{prefix.Addr(), prefix.Addr().Next(), lastOf(prefix).Prev(), lastOf(prefix)} {
			if prefix.Contains(addr) && passes(addr) != (row.kind == "") {
				t.Errorf("%v of %v is %q", addr, prefix, forbidden(addr))
			}
		}
		if kind := forbidden(lastOf(prefix)); !strings.Contains(kind, row.kind) {
			t.Errorf("%v of %v is %q, want a kind with %q", lastOf(prefix), prefix, kind, row.kind)
		}
		if row.reachable && row.kind != "" && row.why == "" {
			t.Errorf("%v is reachable, and yet refused for no reason", prefix)
		}
		if addr := prefix.Addr().Prev(); addr.IsValid() && passes(addr) != row.before {
			t.Errorf("%v before %v: public is %v, want %v", addr, prefix, !row.before, row.before)
		}
		if addr := lastOf(prefix).Next(); addr.IsValid() && passes(addr) != row.after {
			t.Errorf("%v after %v: public is %v, want %v", addr, prefix, !row.after, row.after)
		}
	}
}

// embeddings are the IPv6 forms that carry an IPv4 address, and whether one of a public address is reachable.
var embeddings = []struct {
	name   string
	embed  func(netip.Addr) netip.Addr
	public bool
}{
	{"IPv4-mapped", low("::ffff:0:0"), true},
	{"IPv4-compatible", low("::"), false},
	{"IPv4-translated", low("::ffff:0:0:0"), false},
	{"NAT64", low("64:ff9b::"), true},
	{"local NAT64, low bits", low("64:ff9b:1::"), false},
	{"local NAT64, RFC 6052 /48", at("64:ff9b:1::", 6, 7, 9, 10), false},
	{"6to4", at("2002::1", 2, 3, 4, 5), true},
	{"6to4 with ISATAP", at("2002:5db8:d822:0:0:5efe::", 12, 13, 14, 15), true},
	{"ISATAP", low("2606:2800:21f:cb07:0:5efe::"), true},
	{"ISATAP, universal", low("2606:2800:21f:cb07:200:5efe::"), true},
	{"Teredo server", at("2001:0:0:0:8000:63bf:a247:27dd", 4, 5, 6, 7), false},
	{"Teredo client", func(v4 netip.Addr) netip.Addr {
		b := netip.MustParseAddr("2001:0:5db8:d822::").As16()
		for i, octet := range v4.As4() {
			b[12+i] = ^octet
		}
		return netip.AddrFrom16(b)
	}, false},
}

// at returns an embedding of IPv4 octets at the given places of a base address.
func at(base string, places ...int) func(netip.Addr) netip.Addr {
	return func(v4 netip.Addr) netip.Addr {
		b := netip.MustParseAddr(base).As16()
		for i, octet := range v4.As4() {
			b[places[i]] = octet
		}
		return netip.AddrFrom16(b)
	}
}

func low(base string) func(netip.Addr) netip.Addr { return at(base, 12, 13, 14, 15) }

func TestAnEmbeddedAddressIsJudgedAsItself(t *testing.T) {
	for _, e := range embeddings {
		for _, row := range registry {
			prefix := netip.MustParsePrefix(row.prefix)
			if !prefix.Addr().Is4() {
				continue
			}
			for _, v4 := range []netip.Addr{prefix.Addr(), lastOf(prefix)} {
				if addr, want := e.embed(v4), row.kind == "" && e.public; (forbidden(addr) == "") != want {
					t.Errorf("%s %v of %v: public is %v, want %v", e.name, addr, v4, !want, want)
				}
			}
		}
		for _, v4 := range addrs("93.184.216.34", "168.63.129.17", "1.1.1.1", "223.255.255.255") {
			if addr := e.embed(v4); (forbidden(addr) == "") != e.public {
				t.Errorf("%s %v of the public %v: public is %v, want %v", e.name, addr, v4, !e.public, e.public)
			}
		}
	}
}

// FuzzForbidden holds the policy against a second opinion: the net package's own predicates.
func FuzzForbidden(f *testing.F) {
	for _, row := range registry {
		f.Add(netip.MustParsePrefix(row.prefix).Addr().AsSlice())
		for _, e := range embeddings {
			if v4 := netip.MustParsePrefix(row.prefix).Addr(); v4.Is4() {
				f.Add(e.embed(v4).AsSlice())
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		addr, _ := netip.AddrFromSlice(b)
		if forbidden(addr) != "" {
			return
		}
		addr = addr.Unmap()
		if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() {
			t.Errorf("%v passes as public", addr)
		}
		if nat64.Contains(addr) {
			inner := addr.As16()
			if v4 := netip.AddrFrom4([4]byte(inner[12:])); forbidden(v4) != "" {
				t.Errorf("%v passes as public", addr)
			}
		}
	})
}
