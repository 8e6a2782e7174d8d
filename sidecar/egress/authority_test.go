package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"pub.test:80":                        "pub.test:80",
		"PUB.Test:80":                        "pub.test:80",
		"pub.test.:80":                       "pub.test:80",
		"LOCALHOST.:80":                      "localhost:80",
		"xn--fsq.test:65535":                 "xn--fsq.test:65535",
		"a_b-c.test:1":                       "a_b-c.test:1",
		"1e100.net:443":                      "1e100.net:443",
		"0x7f.0x7g:80":                       "0x7f.0x7g:80",
		"127.0.0.1:80":                       "127.0.0.1:80",
		"127.0.0.1.:80":                      "127.0.0.1:80",
		"127.1:80":                           "127.0.0.1:80",
		"127.0.1:80":                         "127.0.0.1:80",
		"2130706433:80":                      "127.0.0.1:80",
		"0x7f000001:80":                      "127.0.0.1:80",
		"0X7F.1:80":                          "127.0.0.1:80",
		"0x7f.0x0.0x0.0x1:80":                "127.0.0.1:80",
		"0177.0.0.1:80":                      "127.0.0.1:80",
		"0177.1:80":                          "127.0.0.1:80",
		"017700000001:80":                    "127.0.0.1:80",
		"0000127.0.0.1:80":                   "87.0.0.1:80",
		"0:80":                               "0.0.0.0:80",
		"0x:80":                              "0.0.0.0:80",
		"0xa9fea9fe:80":                      "169.254.169.254:80",
		"4294967295:80":                      "255.255.255.255:80",
		"[::1]:80":                           "[::1]:80",
		"[0:0:0:0:0:0:0:1]:80":               "[::1]:80",
		"[2606:2800:0::FF]:443":              "[2606:2800::ff]:443",
		"[::ffff:127.0.0.1]:80":              "[::ffff:127.0.0.1]:80",
		"pub.test:00080":                     "pub.test:80",
		strings.Repeat("a", 63) + ".test:80": strings.Repeat("a", 63) + ".test:80",
	} {
		a, err := parseAuthority(text)
		if err != nil || a.String() != want {
			t.Errorf("%q gives %v, %v; want %s", text, a, err, want)
		}
	}
}

// noAuthorities are texts that name no host, or a port that is none.
func noAuthorities() []string {
	return []string{
		"", ":80", ".:80", "..:80", "a..b:80", ".pub.test:80", "pub.test..:80",
		"pub.test:", "pub.test:0", "pub.test:65536", "pub.test:65616", "pub.test:-1", "pub.test:+80", "pub.test: 80", "pub.test:80 ",
		"pub.test:8o", "pub.test:80/x", "pub.test:80:80", "pub.test:99999999999999999999", "pub.test:０",
		"10.0.0.5 :80", " pub.test:80", "pub.test\x00:80", "pub\x00.test:80", "pub.test\t:80", "pub.test\r\n:80", "pub.test\x7f:80",
		"a@10.0.0.5:80", "user:pass@pub.test:80", "pub.test@:80", "app\\@pub:80", "app%2f@pub.test:80", "pub.test#@app:80", "pub/test:80", "pub?test:80",
		"127%2e0%2e0%2e1:80", "%31.0.0.1:80", "127。0。0。1:80", "１２７.0.0.1:80", "127．0.0.1:80", "ⓛocalhost:80", "lo\u00adcalhost:80", "\xff.test:80",
		"[[pub.test]]:80", "[[::1]]:80", "[127.0.0.1]:80", "[pub.test]:80", "[::1:80", "::1]:80", "::1:80", "[]:80", "[::1]80", "[::1]x:80", "[::1]]:80", "[ ::1]:80", "[::1 ]:80",
		"[::1%25lo]:80", "[::1%lo]:80", "[::1%25.pub.test]:80", "[fe80::1%25lo]:80", "[::ffff:127.0.0.1%25x]:80", "[::ffff:127.1]:80", "[::ffff:0x7f.0.0.1]:80", "[1::2::3]:80", "[v1.x]:80",
		"[[93.184.216.34]]:80", "x[::2]:80", "[::2]80", "[::2", "10.0.0.5\x00.pub.test:80", "pub.test:80@10.0.0.5:80", "10.0.0.5:80@pub.test:80", "pub.test:73616",
		"pub.test:18446744073709559696", "pub.test:0x50", "pub.test:80.0", "pub.test::80", "pub.test:80?x", "pub.test:80#x", "//pub.test:80", "http://pub.test:80", "pub.test:80,10.0.0.5:80",
		"①②⑦.⓪.⓪.①:80", "¹²⁷.⁰.⁰.¹:80", "127\u200b.0.0.1:80", "127.0.0.1%00:80", "127%252e0%252e0%252e1:80", "[::1].:80", "%5b::1%5d:80", "localhoſt:80", "secret%2eevil.test:80",
		"1.2.3.4.5:80", "256.0.0.1:80", "1.2.3.256:80", "1.2.65536:80", "1.16777216:80", "4294967296:80", "0x100000000:80", "09.0.0.1:80", "1.2.3.08:80",
		"pub.123:80", "pub.0x7f:80", "pub.0x:80", "127.0.0.0x1g:80x", "99999999999999999999999999:80", "0x.0x.0x.0x.0x:80",
		strings.Repeat("a", 64) + ".test:80", strings.Repeat("a.", 127) + "b:80",
	}
}

func TestWhatIsNoAuthority(t *testing.T) {
	for _, text := range noAuthorities() {
		if a, err := parseAuthority(text); err == nil {
			t.Errorf("%q is taken for %v", text, a)
		}
	}
}

func TestHostField(t *testing.T) {
	for text, want := range map[string]string{
		"pub.test:80": "pub.test", "PUB.test.:8080": "pub.test:8080", "127.1:80": "127.0.0.1", "[::2]:80": "[::2]", "[::2]:81": "[::2]:81",
	} {
		a, err := parseAuthority(text)
		if err != nil || a.hostField() != want {
			t.Errorf("%q gives the Host %q, %v; want %q", text, a.hostField(), err, want)
		}
	}
}

// FuzzAuthority checks that what passes is plain, is stable in any case, and never hides an address from the policy.
func FuzzAuthority(f *testing.F) {
	for _, text := range append(noAuthorities(),
		"pub.test:80", "LOCALHOST.:1", "127.1:80", "0x7f000001", "0177.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:65535", ".", "0x", "1.2.3.4.5", "09") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAuthority(text)
		if err != nil {
			return
		}
		if a.host.addr.IsValid() == (a.host.name != "") {
			t.Fatalf("%q is both a name and an address, or neither: %+v", text, a)
		}
		plain := a.hostname()
		for _, b := range []byte(strings.Trim(plain, "[]")) {
			if !hostByte(b) && (b != ':' || !a.host.addr.Is6()) {
				t.Fatalf("%q gives %q with the byte %#x", text, plain, b)
			}
		}
		if _, err := netip.ParseAddr(a.host.name); err == nil {
			t.Fatalf("%q gives the name %q, which reads as an address", text, a.host.name)
		}
		if a.port != 0 {
			plain = a.String()
		}
		for _, same := range []string{plain, strings.ToUpper(plain), strings.ToUpper(text)} {
			again, err := parseAuthority(same)
			if err != nil || again.String() != a.String() {
				t.Fatalf("%q gives %v, and %q, which is the same, %v, %v", text, a, same, again, err)
			}
		}
	})
}
