package egress

import (
	"context"
	"errors"
	"net/netip"
	"strings"
)

// The policy, whole: a page reaches its sandbox's app and public addresses, nothing else.
//
//  1. The app's own host and port, spelled exactly as the app's URL spells them, are exempt.
//  2. An address is judged by the tables below; an IPv6 address that carries an IPv4 one is judged by that one too.
//  3. A local name is refused and DNS not asked.
//  4. Any other name is looked up once. One address that may not be reached refuses the whole name. The connection goes
//     to the addresses that were judged here: nobody looks the name up again.
//
// Whatever gives no clear answer is refused.

// A Resolver looks names up.
type Resolver interface {
	// Lookup returns every IPv4 and IPv6 address of an absolute name, which is given without its last dot, or an error.
	// It ends by itself within 10 s.
	Lookup(ctx context.Context, name string) ([]netip.Addr, error)
}

// A policy decides where a connection may go.
type policy struct {
	app     authority // the exemption; port 0: none
	names   Resolver
	appHost Resolver // for the app's own name, which may be one that only this machine knows
}

// A refusal is an authority that a page may not reach, and why.
type refusal struct {
	authority authority
	reason    string // follows the host: "is a loopback address"
}

func (r *refusal) Error() string { return r.authority.String() + " " + r.reason }

// route returns the addresses to which a connection to a may go, in the order to try them, or a *refusal.
func (p *policy) route(ctx context.Context, a authority) ([]netip.Addr, error) {
	refuse := func(reason string) error { return &refusal{authority: a, reason: reason} }
	exempt := p.exempt(a)
	if a.host.addr.IsValid() {
		if kind := forbidden(a.host.addr); kind != "" && !exempt {
			return nil, refuse("is " + kind)
		}
		return []netip.Addr{a.host.addr}, nil
	}
	if !exempt && localName(a.host.name) {
		return nil, refuse("is a local host name")
	}
	names := p.names
	if exempt {
		names = p.appHost
	}
	addrs, err := names.Lookup(ctx, a.host.name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errNoAddress), err == nil && len(addrs) == 0:
		return nil, refuse("does not resolve")
	case err != nil:
		return nil, refuse("could not be looked up")
	}
	for _, addr := range addrs {
		if kind := forbidden(addr); kind != "" && !exempt {
			return nil, refuse("resolves to " + kind)
		}
	}
	return addrs, nil
}

// exempt tells whether a is the app itself. Another spelling of the app's host is another host.
func (p *policy) exempt(a authority) bool {
	return p.app.port != 0 && a.port == p.app.port && a.host.asked == p.app.host.asked
}

// localName tells whether a name means something on this machine or this network only: localhost (RFC 6761), local
// (RFC 6762), home.arpa (RFC 8375), internal (reserved by ICANN in 2024), and a single label, which no public host has.
func localName(name string) bool {
	if !strings.Contains(name, ".") {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".home.arpa"} {
		if strings.HasSuffix("."+name, suffix) {
			return true
		}
	}
	return false
}

// forbidden returns what kind of unreachable address addr is, or "" for a public one.
func forbidden(addr netip.Addr) string {
	if !addr.IsValid() || addr.Zone() != "" {
		return "not a public address"
	}
	addr = addr.Unmap() // ::ffff:a.b.c.d: the kernel itself dials IPv4
	if addr.Is4() {
		return kindIn(special4, addr)
	}
	for _, inner := range embedded(addr) {
		if kind := kindIn(special4, inner); kind != "" {
			return kind + " inside an IPv6 one"
		}
	}
	if nat64.Contains(addr) {
		return "" // a public IPv4 address by way of the network's translator
	}
	if kind := kindIn(special6, addr); kind != "" {
		return kind
	}
	if !globalUnicast.Contains(addr) {
		return "not a public address"
	}
	return ""
}

// embedded returns the IPv4 addresses that a translator, relay or tunnel would take out of addr.
func embedded(addr netip.Addr) []netip.Addr {
	b := addr.As16()
	low := netip.AddrFrom4([4]byte(b[12:]))
	var inner []netip.Addr
	if nat64.Contains(addr) {
		inner = append(inner, low)
	}
	if sixToFour.Contains(addr) {
		inner = append(inner, netip.AddrFrom4([4]byte(b[2:6])))
	}
	if b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP (RFC 5214 §6.1)
		inner = append(inner, low)
	}
	return inner
}

// A special range is one that a page may not reach.
type special struct {
	prefix netip.Prefix
	kind   string
}

func kindIn(table []special, addr netip.Addr) string {
	for _, s := range table {
		if s.prefix.Contains(addr) {
			return s.kind
		}
	}
	return ""
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")     // all that IANA hands out (RFC 4291 §2.4)
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixToFour     = netip.MustParsePrefix("2002::/16")    // RFC 3056
)

// special4 is IANA's IPv4 special-purpose registry without what is globally reachable (AS112, AMT), with multicast and
// the platform address of one cloud.
var special4 = []special{ //nolint:gochecknoglobals // a table that nothing writes
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this network"},            // RFC 791
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},                    // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), "a shared (carrier) address"},        // RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},                  // RFC 1122
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud platform's own address"}, // Azure's host
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},             // RFC 3927
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},                 // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), "a protocol's own address"},           // RFC 6890
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation address"},            // RFC 5737
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay's address"},           // RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},                // RFC 1918
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking address"},            // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation address"},         // RFC 5737
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation address"},          // RFC 5737
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},                 // RFC 5771
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved or broadcast address"},     // RFC 1112, RFC 919
}

// special6 is the same for IPv6. What is outside globalUnicast would be refused anyway: it is named here for its reason.
var special6 = []special{ //nolint:gochecknoglobals // a table that nothing writes
	{netip.MustParsePrefix("::/128"), "the unspecified address"},              // RFC 4291
	{netip.MustParsePrefix("::1/128"), "a loopback address"},                  // RFC 4291
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible address"},            // RFC 4291, deprecated
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "an IPv4-translated address"},  // RFC 2765
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a translator's local address"}, // RFC 8215: only its operator knows where the IPv4 address stands
	{netip.MustParsePrefix("100::/64"), "a discard address"},                  // RFC 6666
	{netip.MustParsePrefix("100:0:0:1::/64"), "a dummy address"},              // RFC 9780
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},                  // RFC 4380: its server's and its client's IPv4 address stand in it
	{netip.MustParsePrefix("2001::/23"), "a protocol's own address"},          // RFC 2928; what is reachable in it (AMT, AS112, ORCHIDv2, DRIP) serves no pages
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation address"},       // RFC 3849
	{netip.MustParsePrefix("3fff::/20"), "a documentation address"},           // RFC 9637
	{netip.MustParsePrefix("5f00::/16"), "a routing segment, not an address"}, // RFC 9602
	{netip.MustParsePrefix("fc00::/7"), "a private address"},                  // RFC 4193
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},              // RFC 4291
	{netip.MustParsePrefix("fec0::/10"), "a private (site-local) address"},    // RFC 3879
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},                // RFC 4291
}
