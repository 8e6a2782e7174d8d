package lab

import "net/netip"

// Kind says how an address of the table is judged.
type Kind int

const (
	// Reachable addresses are on lo, and a canary answers there: it alone tells whether the target got through.
	Reachable Kind = iota
	// RawWithZone addresses can be connected to only with a zone (fe80::/10): a canary answers there, and only raw
	// requests to the proxy can ask for them.
	RawWithZone
	// RefusalOnly addresses can't be connected to on Linux, so that the proxy's answer alone is judged.
	RefusalOnly
)

// Class groups the addresses that one clause speaks of.
type Class string

// The classes of the address table.
const (
	Loopback     Class = "loopback"
	LinkLocal    Class = "link-local"
	Private      Class = "private"
	Embedded     Class = "embedded"
	EmbeddedRare Class = "embedded-rare"
	Special      Class = "special"
	Platform     Class = "platform"
	Public       Class = "public"
	// Neighbours lie just outside a range that is private, and are public.
	Neighbour         Class = "neighbour"
	SpecialNeighbour  Class = "special-neighbour"
	PlatformNeighbour Class = "platform-neighbour"
	// EmbeddedPublic addresses are NAT64 forms of public ones.
	EmbeddedPublic Class = "embedded-public"
)

// public tells the classes that a page may reach: a site listens at their addresses, and no canary.
func (c Class) public() bool {
	switch c {
	case Public, Neighbour, SpecialNeighbour, PlatformNeighbour, EmbeddedPublic:
		return true
	default:
		return false
	}
}

// Address is one row of the address table.
type Address struct {
	Addr  netip.Addr
	Class Class
	Kind  Kind
}

// appAddr is the sandbox app's: loopback, and the only place there that a page may reach.
func appAddr() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:3000") }

// dnsAddr is what resolv.conf names. It is no loopback address, since a container engine drops those.
func dnsAddr() netip.AddrPort { return netip.MustParseAddrPort("100.100.100.53:53") }

// publicAddrs stand for the internet: a site listens on each, at every public port.
func publicAddrs() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("93.184.216.35"), netip.MustParseAddr("93.184.216.36"),
		netip.MustParseAddr("2606:2800:220:1:248:1893:25c8:1946"),
	}
}

// Ports of the lab. No fixture uses port 80, where Chromium tries https first; canaries listen there all the same.
const (
	// SitePort is where public sites speak http, and TLSPort where they speak https.
	SitePort = 8080
	TLSPort  = 8443
	// RebindPort is one more port of the public sites, where nothing else listens: a sidecar can have it on loopback.
	RebindPort = 8090
	// CanaryPort is the canaries' usual port, beside 80, 443 (TLS) and the app's and the sites' own ports.
	CanaryPort = 8000
)

// Table is the address table: every address that an attack aims at, and the public ones that stand for the internet.
func Table() []Address {
	var table []Address
	for _, row := range []struct {
		class Class
		kind  Kind
		addrs []string
	}{
		{Loopback, Reachable, []string{"127.0.0.1", "127.0.0.2", "127.200.7.9", "::1"}},
		{LinkLocal, Reachable, []string{"169.254.169.254", "169.254.170.2", "169.254.0.7"}},
		{LinkLocal, RawWithZone, []string{"fe80::5"}},
		{Private, Reachable, []string{
			"10.0.0.5", "10.66.0.5", "172.16.0.5", "172.31.255.6", "192.168.0.5", "192.168.1.1", "fc00::5", "fd66::5",
		}},
		{Embedded, Reachable, []string{
			"::10.0.0.5", "::169.254.169.254", "::127.0.0.2", "::172.16.0.5", "::192.168.0.5", "64:ff9b::10.0.0.5",
			"64:ff9b::169.254.169.254", "64:ff9b::127.0.0.1", "64:ff9b::172.31.255.6", "64:ff9b::192.168.0.5", "64:ff9b::",
		}},
		{EmbeddedRare, Reachable, []string{
			"2002:7f00:1::1", "2002:a00:5::1", "2002:a9fe:a9fe::1", "2002:c0a8:5::", "2001:0:7f00:1::1", "2001:0:102:304::f5ff:fffa",
			"2001:0:102:304:8000:63bf:5601:5601", "64:ff9b:1::7f00:1", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:7f00:0:100::",
			"64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:ac10:0:500::", "::ffff:0:127.0.0.1", "::ffff:0:169.254.169.254",
			// A public address stands at the other of the two places.
			"64:ff9b:1:a00:0:500:5db8:d822", "64:ff9b:1:5db8:d8:2200:a00:5",
		}},
		{Special, Reachable, []string{
			"0.0.0.5", "0.255.255.254", "100.64.0.5", "100.127.255.254", "192.0.0.5", "192.0.0.254", "198.18.0.5", "198.19.255.254",
			"240.0.0.5", "255.255.255.254", "fec0::5", "feff::5",
		}},
		{Special, RefusalOnly, []string{"224.0.0.251", "239.255.255.250", "255.255.255.255", "ff02::1", "ff0e::5", "::"}},
		{Platform, Reachable, []string{
			"168.63.129.16", "::168.63.129.16", "64:ff9b::168.63.129.16", "2002:a83f:8110::1", "2001:0:a83f:8110::1",
			"2001:0:102:304::57c0:7eef", "64:ff9b:1::a83f:8110", "64:ff9b:1:a83f:81:1000::", "::ffff:0:168.63.129.16",
		}},
		{Neighbour, Reachable, []string{
			"9.255.255.254", "11.0.0.1", "172.15.255.254", "172.32.0.1", "192.167.255.254", "192.169.0.1",
		}},
		{SpecialNeighbour, Reachable, []string{
			"1.0.0.2", "100.63.255.254", "100.128.0.1", "191.255.255.254", "192.0.1.1", "198.17.255.254", "198.20.0.1",
			"223.255.255.254",
		}},
		{PlatformNeighbour, Reachable, []string{"168.63.129.15", "168.63.129.17"}},
		{EmbeddedPublic, Reachable, []string{"64:ff9b::93.184.216.34", "64:ff9b::168.63.129.17"}},
	} {
		for _, a := range row.addrs {
			table = append(table, Address{netip.MustParseAddr(a), row.class, row.kind})
		}
	}
	for _, a := range publicAddrs() {
		table = append(table, Address{a, Public, Reachable})
	}
	return table
}
