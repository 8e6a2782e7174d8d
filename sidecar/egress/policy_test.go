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
