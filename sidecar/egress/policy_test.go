package egress

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// lookup is a Resolver made of a function.
type lookup func(ctx context.Context, name string) ([]netip.Addr, error)

func (l lookup) Lookup(ctx context.Context, name string) ([]netip.Addr, error) { return l(ctx, name) }

func addrs(texts ...string) []netip.Addr {
	list := make([]netip.Addr, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParseAddr(text)
	}
	return list
}

// lastOf returns the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// registry lists what IANA's special-purpose registries (and the multicast ones) keep from the internet, and whether the
// address before and after each range is public. It is written apart from the policy's tables.
var registry = []struct {
	prefix        string
	before, after bool
	kind          string
}{
	{"0.0.0.0/8", false, true, "this network"},
	{"10.0.0.0/8", true, true, "private"},
	{"100.64.0.0/10", true, true, "shared"},
	{"127.0.0.0/8", true, true, "loopback"},
	{"168.63.129.16/32", true, true, "cloud platform"},
	{"169.254.0.0/16", true, true, "link-local"},
	{"172.16.0.0/12", true, true, "private"},
	{"192.0.0.0/24", true, true, "protocol"},
	{"192.0.2.0/24", true, true, "documentation"},
	{"192.88.99.0/24", true, true, "6to4"},
	{"192.168.0.0/16", true, true, "private"},
	{"198.18.0.0/15", true, true, "benchmarking"},
	{"198.51.100.0/24", true, true, "documentation"},
	{"203.0.113.0/24", true, true, "documentation"},
	{"224.0.0.0/4", true, false, "multicast"},
	{"240.0.0.0/4", false, false, "reserved"},
	{"255.255.255.255/32", false, false, "broadcast"},
	{"::/128", false, false, "unspecified"},
	{"::1/128", false, false, "loopback"},
	{"::/96", false, false, ""},
	{"::ffff:0:0:0/96", false, false, "translated"},
	{"64:ff9b:1::/48", false, false, "translator"},
	{"100::/64", false, false, "discard"},
	{"100:0:0:1::/64", false, false, "dummy"},
	{"2001::/32", true, false, "Teredo"},
	{"2001::/23", true, true, ""},
	{"2001:2::/48", false, false, "protocol"},
	{"2001:10::/28", false, false, "protocol"},
	{"2001:20::/28", false, false, "protocol"},
	{"2001:30::/28", false, false, "protocol"},
	{"2001:db8::/32", true, true, "documentation"},
	{"3fff::/20", true, true, "documentation"},
	{"5f00::/16", false, false, "segment"},
	{"fc00::/7", false, false, "private"},
	{"fe80::/10", false, false, "link-local"},
	{"fec0::/10", false, false, "site-local"},
	{"ff00::/8", false, false, "multicast"},
	{"4000::/2", true, false, "not a public"},
	{"8000::/1", false, false, ""},
}

func TestEveryRangeIsRefusedFromItsFirstAddressToItsLast(t *testing.T) {
	for _, row := range registry {
		prefix := netip.MustParsePrefix(row.prefix)
		for _, addr := range []netip.Addr{prefix.Addr(), prefix.Addr().Next(), lastOf(prefix)} {
			if !prefix.Contains(addr) {
				continue
			}
			kind := forbidden(addr)
			if kind == "" {
				t.Errorf("%v of %v passes as public", addr, prefix)
			}
			if addr == lastOf(prefix) && !strings.Contains(kind, row.kind) {
				t.Errorf("%v of %v is %q, want a kind with %q", addr, prefix, kind, row.kind)
			}
		}
		if addr := prefix.Addr().Prev(); addr.IsValid() && (forbidden(addr) == "") != row.before {
			t.Errorf("%v before %v: public is %v, want %v", addr, prefix, !row.before, row.before)
		}
		if addr := lastOf(prefix).Next(); addr.IsValid() && (forbidden(addr) == "") != row.after {
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
				if addr := e.embed(v4); forbidden(addr) == "" {
					t.Errorf("%s %v, which is %v, passes as public", e.name, addr, v4)
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

func TestPublicAddressesPass(t *testing.T) {
	for _, addr := range addrs("1.1.1.1", "93.184.216.34", "192.31.196.1", "2606:2800:21f:cb07::1", "2620:4f:8000::1", "2a00::1") {
		if kind := forbidden(addr); kind != "" {
			t.Errorf("%v is refused as %s", addr, kind)
		}
	}
	for _, addr := range []netip.Addr{{}, netip.MustParseAddr("2606:2800::1%eth0"), netip.MustParseAddr("fe80::1%lo")} {
		if forbidden(addr) == "" {
			t.Errorf("%v passes as public", addr)
		}
	}
}

func TestLocalNames(t *testing.T) {
	for name, local := range map[string]bool{
		"localhost": true, "x.localhost": true, "a.b.localhost": true, "printer.local": true, "metadata.google.internal": true,
		"router.home.arpa": true, "home.arpa": true, "local": true, "internal": true, "intranet": true, "app": true,
		"pub.test": false, "notlocalhost.test": false, "localhost.test": false, "xlocal.test": false, "arpa.test": false,
		"myhome.arpa": false, "x.notinternal": false,
	} {
		if localName(name) != local {
			t.Errorf("localName(%q) is %v", name, !local)
		}
	}
}

func policyFor(t *testing.T, app string, names lookup) *policy {
	t.Helper()
	p := &policy{names: names, appHost: names}
	if app != "" {
		u, err := url.Parse(app)
		if err != nil {
			t.Fatal(err)
		}
		if p.app, err = appAuthority(u); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestOnePrivateAddressRefusesTheName(t *testing.T) {
	answers := map[string][]netip.Addr{
		"pub.test":     addrs("93.184.216.34", "2606:2800::1"),
		"private.test": addrs("10.0.0.5"),
		"first.test":   addrs("10.0.0.5", "93.184.216.34"),
		"last.test":    addrs("93.184.216.34", "2606:2800::1", "fd00::1"),
		"mapped.test":  addrs("::ffff:127.0.0.1"),
		"nat64.test":   addrs("64:ff9b::a9fe:a9fe"),
		"empty.test":   nil,
	}
	p := policyFor(t, "", func(_ context.Context, name string) ([]netip.Addr, error) {
		if name == "broken.test" {
			return nil, errors.New("SERVFAIL")
		}
		return answers[name], nil
	})
	for name, want := range map[string]string{
		"pub.test":     "",
		"private.test": "resolves to a private address",
		"first.test":   "resolves to a private address",
		"last.test":    "resolves to a private address",
		"mapped.test":  "resolves to a loopback address",
		"nat64.test":   "resolves to a link-local address inside an IPv6 one",
		"empty.test":   "does not resolve",
		"broken.test":  "could not be looked up",
		"x.localhost":  "is a local host name",
		"2130706433":   "is a loopback address",
		"[::1]":        "is a loopback address",
	} {
		a, err := parseAuthority(name + ":80")
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.route(t.Context(), a)
		var refused *refusal
		switch {
		case want == "" && (err != nil || len(got) != 2):
			t.Errorf("%s: got %v, %v; want its two addresses", name, got, err)
		case want != "" && (!errors.As(err, &refused) || refused.reason != want || len(got) != 0):
			t.Errorf("%s: got %v, %v; want %q", name, got, err, want)
		}
	}
}

func TestAddressesAndLocalNamesAreNotAskedOfDNS(t *testing.T) {
	p := policyFor(t, "", func(_ context.Context, name string) ([]netip.Addr, error) {
		t.Errorf("DNS was asked for %q", name)
		return addrs("93.184.216.34"), nil
	})
	for _, text := range []string{"127.0.0.1", "127.1", "0x7f000001", "0177.0.0.1", "2130706433", "93.184.216.34", "[2606:2800::1]", "LOCALHOST.", "app", "x.local."} {
		a, err := parseAuthority(text + ":80")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = p.route(t.Context(), a)
	}
}

func TestTheAppAloneIsExempt(t *testing.T) {
	names := lookup(func(_ context.Context, name string) ([]netip.Addr, error) {
		if name == "other.test" || strings.HasPrefix(name, "app") || name == "localhost" || name == "xn--pp-uia.test" {
			return addrs("10.0.0.5"), nil
		}
		return nil, errNoAddress
	})
	for _, row := range []struct {
		app     string
		allowed []string
		refused []string
	}{
		{"http://127.0.0.1:3000", []string{"127.0.0.1:3000"}, []string{"127.0.0.1:3001", "127.0.0.1:80", "localhost:3000", "127.1:3000", "2130706433:3000", "[::ffff:127.0.0.1]:3000", "[::1]:3000", "127.0.0.1.:3000", "127.0.0.2:3000"}},
		{"http://localhost", []string{"localhost:80", "LOCALHOST:80"}, []string{"localhost:443", "localhost.:80", "127.0.0.1:80", "x.localhost:80", "[::1]:80"}},
		{"https://App.Test", []string{"app.test:443", "APP.test:443"}, []string{"app.test:80", "app.test.:443", "other.test:443", "x.app.test:443"}},
		{"http://[::1]:8080", []string{"[::1]:8080", "[0:0::1]:8080"}, []string{"[::1]:80", "127.0.0.1:8080", "[::2]:8080"}},
		{"http://127.1:3000", []string{"127.0.0.1:3000"}, []string{"127.1:3000"}},
		{"http://app:3000/path", []string{"app:3000"}, []string{"app2:3000"}},
		{"http://äpp.test:80", []string{"xn--pp-uia.test:80"}, []string{"app.test:80"}},
	} {
		p := policyFor(t, row.app, names)
		judge := func(text string) error {
			a, err := parseAuthority(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			_, err = p.route(t.Context(), a)
			return err
		}
		for _, text := range row.allowed {
			if err := judge(text); err != nil {
				t.Errorf("app %s: %s is refused: %v", row.app, text, err)
			}
		}
		for _, text := range row.refused {
			if judge(text) == nil {
				t.Errorf("app %s: %s passes", row.app, text)
			}
		}
	}
}

func TestACancelledLookupIsNoRefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := policyFor(t, "", func(context.Context, string) ([]netip.Addr, error) {
		cancel()
		return addrs("93.184.216.34"), nil
	})
	got, err := p.route(ctx, authority{host: host{asked: "pub.test", name: "pub.test"}, port: 80})
	if !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("got %v, %v; want the cancellation", got, err)
	}
}

func TestAnUnusableAppIsAnError(t *testing.T) {
	for _, text := range []string{"ftp://app.test", "http://", "http://a%20b", "http://app.test:0", "http://1.2.3.4.5"} {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		if a, err := appAuthority(u); err == nil {
			t.Errorf("%s gives %v", text, a)
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
