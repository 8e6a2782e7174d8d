package egress

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
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

// A spelling is a place that is refused, and other ways to write its host, one of which a browser's URL can carry too.
type spelling struct {
	plain string
	odd   []string
	raw   []string // what no URL can carry
}

// privateName is scripted to be private.
const privateName = "secret.evil.test"

// oddSpellings are odd ways to write hosts that are refused in plain.
func oddSpellings() []spelling {
	return []spelling{
		{
			plain: "127.0.0.1",
			odd: []string{
				"127.0.0.1.", "0177.1", "0177.1.", "2130706433", "2130706433.", "0X7F.1", "0X7F000001", "0x7F.0X0.0x0.0X1", "127.0.0.0X1.",
				"127%2e0%2e0%2e1", "127%2E0.0.1", "%31%32%37.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "127。0.0.1.", "１２７.0.0.1", "１２７．０．０．１",
				"①②⑦.⓪.⓪.①", "𝟏𝟐𝟕.𝟎.𝟎.𝟏", "¹²⁷.⁰.⁰.¹", "0ｘ7f.1", "127.0.0.1\u00ad", "1\u00ad27.0.0.1", "127\u200b.0.0.1", "127.0.0.1\u2060", "127.0.0.1%2e",
				"127.0.0.1%E3%80%82", "[::FFFF:127.0.0.1]", "[::ffff:7F00:1]",
			},
			raw: []string{
				"127.0.0.1..", "127.0.0.1\x00", "127.0.0.1\x00." + privateName, "\x00127.0.0.1", "127.0.0.1%00", "127.0.0.1%00.pub.test", "127.0.0.1%20",
				"127.0.0.1%09", "127.0.0.1%0d%0a", "127%00.0.0.1", "127.0.0.1\x7f", "127.0.0.1\x01", "127.0.0.1\x85", "127.0.0.1%", "127.0.0.1%2", "127%252e0%252e0%252e1",
				"[127.0.0.1]", "[::ffff:127.0.0.1%25lo]", "[::ffff:127.0.0.1%lo]", "\u200e127.0.0.1", "127.0.0.1\ufeff", "127,0,0,1", "127.0.0.1\\", "127\xe3\x80\x820.0.1",
			},
		},
		{
			plain: "[::1]",
			odd:   []string{"[0:0::1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0.0.0.1]", "[::0001]"},
			raw: []string{
				"[::1%25lo]", "[::1%lo]", "[::1%251]", "[::1%]", "[::1%25]", "[::1%25.pub.test]", "[::1%00]", "[::1\x00]", "[ ::1]", "[::１]", "[::%31]", "[::1.]",
				"[::1].", "%5b::1%5d", "[::1]\x00",
			},
		},
		{
			plain: "169.254.169.254",
			odd: []string{
				"169.254.169.254.", "0xA9FEA9FE", "0XA9.0XFE.0xa9.0xFE", "2852039166.", "0251.0376.0251.0376.", "169。254。169。254", "１６９．２５４．１６９．２５４",
				"169%2e254%2e169%2e254", "⑯⑨.②⑤④.⑯⑨.②⑤④", "[::FFFF:A9FE:A9FE]",
			},
			raw: []string{"169.254.169.254%00", "169.254.169.254\x00.pub.test", "169.254.169.254..", "[::ffff:169.254.169.254%251]"},
		},
		{
			plain: "[fe80::5%25lo]",
			raw:   []string{"[fe80::5]", "[FE80::5%25LO]", "[fe80::5%lo]", "[fe80::5%251]", "[fe80::5%25lo%00]", "[fe80::5%25%6c%6f]", "[fe80:0:0:0:0:0:0:5%25lo]"},
		},
		{
			plain: "10.0.0.5",
			odd:   []string{"10.0.0.5.", "10.5.", "012.0.0.5", "0XA.0.0.5", "１０.0.0.5", "10。0。0。5", "⑩.0.0.5", "10%2E0%2E0%2E5", "[::FFFF:A00:5]"},
			raw:   []string{"10.0.0.5%00", "10.0.0.5\x00", "10.0.0.5%20", "10.0.0.5..", "[::ffff:10.0.0.5%25lo]"},
		},
		{
			plain: "localhost",
			odd: []string{
				"LOCALHOST", "LOCALHOST.", "LocalHost", "x.localhost.", "X.LOCALHOST.", "ｌｏｃａｌｈｏｓｔ", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "loc\u00adalhost", "local\u200bhost",
				"%6cocalhost", "localhost%2e", "loca%6Chost.", "localhoſt", "x。localhost", "x．LOCALHOST｡", "ℓocalhost",
			},
			raw: []string{"localhost..", "localhost%00", "localhost\x00", "localhost\x00.pub.test", "localhost%00.pub.test", ".localhost", "localhost%20", "[localhost]"},
		},
		{
			plain: privateName,
			odd: []string{
				"SECRET.evil.test", "Secret.Evil.TEST.", "secret.evil.test.", "ｓecret.evil.test", "ⓢecret.evil.test", "secret。evil。test", "secret．evil｡test",
				"secret%2eevil%2etest", "%73ecret.evil.test", "sec\u00adret.evil.test", "sec\u200bret.evil.test", "ſecret.evil.test", "SECRET.evil.test%2E",
			},
			raw: []string{
				"secret.evil.test..", ".secret.evil.test", "secret.evil.test%00", "secret.evil.test\x00", "secret\x00.evil.test", "secret.evil.test%20",
				"[secret.evil.test]", "secret..evil.test",
			},
		},
	}
}

// readsAsAddress tells whether a name is an IP address in any of a browser's spellings: one to four numbers.
func readsAsAddress(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		label = strings.ToLower(label)
		base := 10
		if hex, ok := strings.CutPrefix(label, "0x"); ok {
			label, base = "0"+hex, 16
		}
		if _, err := strconv.ParseUint(label, base, 64); err != nil {
			return false
		}
	}
	return len(labels) <= 4
}

// neverAsked wants no question to DNS to have been one for an address.
func neverAsked(l *lab.Lab, did string) {
	GinkgoHelper()
	for _, q := range l.DNS.Queries() {
		if readsAsAddress(q.Asked) {
			engine.Fail(did, []string{"no look-up of what reads as an address"}, fmt.Sprintf("a look-up of %q, type %s", q.Asked, q.Type))
		}
	}
}

// scriptSpellings makes the private name private, and localhost public for whoever asks DNS for it: an odd spelling that is
// looked up shows, since the plain one isn't granted.
func scriptSpellings(l *lab.Lab) {
	GinkgoHelper()
	engine.Harness(l.DNS.Set(privateName, dns.Answer(netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("fd66::5"))))
	engine.Harness(l.DNS.Set("localhost", dns.Answer(l.Public(1))))
	engine.Harness(l.DNS.Set("*.localhost", dns.Answer(l.Public(1))))
}

// grants tells whether the proxy grants a plain request or a tunnel to an authority, in time.
func grants(ctx context.Context, p *lab.Proxy, did, authority string) (plainly, tunnel bool) {
	GinkgoHelper()
	within, cancel := context.WithTimeout(ctx, refuseWithin)
	defer cancel()
	answer, err := answerTo(within, p, "GET", getBytes("http://"+authority+"/status?code=200", "Host: "+targetName))
	Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "%s: a plain request for %q", did, authority)
	plainly = answer != nil && answer.Status < 400
	answer, err = answerTo(within, p, "CONNECT", connectBytes(authority))
	Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "%s: CONNECT %q", did, authority)
	return plainly, answer != nil && answer.Status/100 == 2
}

func oneSpelling(l *lab.Lab) {
	// "Case, trailing dots, percent signs, Unicode dots and digits, zone ids and control characters give no access that the
	// plain spelling lacks, for CONNECT as for plain requests. What reads as an address is never asked of DNS."
	It("lets no odd spelling in a raw request through", engine.Clause("egress.one-spelling"), SpecTimeout(time.Minute), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		scriptSpellings(l)
		controlRaw(ctx, l, p)
		for _, row := range oddSpellings() {
			for _, port := range []int{lab.CanaryPort, lab.SitePort} {
				plainly, tunnel := grants(ctx, p, "the plain spelling", fmt.Sprintf("%s:%d", row.plain, port))
				if plainly || tunnel {
					continue // where the plain spelling is granted, it is another clause's matter
				}
				for _, host := range append(row.odd, row.raw...) {
					authority := fmt.Sprintf("%s:%d", host, port)
					plainly, tunnel := grants(ctx, p, "an odd spelling", authority)
					if plainly || tunnel {
						engine.Fail(fmt.Sprintf("asking the proxy for %q, whose plain spelling %s is refused", authority, row.plain),
							[]string{"an error status", "the connection closed"}, fmt.Sprintf("granted (plain request: %v, CONNECT: %v)", plainly, tunnel))
					}
				}
			}
		}
		controlRaw(ctx, l, p)
		neverAsked(l, "asking the proxy for odd spellings of private places")
		untouched(ctx, l, s, "asking the proxy for odd spellings of private places")
	})

	It("grants a public name in any case", engine.Clause("egress.one-spelling"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		for _, authority := range authorities([]string{"www." + lab.PublicName, "WWW." + strings.ToUpper(lab.PublicName), "Www." + lab.PublicName}, lab.SitePort) {
			plainly, tunnel := grants(ctx, p, "a public name", authority)
			Expect([]bool{plainly, tunnel}).To(Equal([]bool{true, true}), "asking the proxy for %s, plainly and by CONNECT", authority)
		}
	})

	It("lets no odd spelling in a page's URL through", engine.Clause("egress.one-spelling"), SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		scriptSpellings(l)
		ways := []pages.Way{pages.FetchNoCORS, pages.Img, pages.Iframe, pages.WebSocket} // in turn: the reading is the same for all
		var targets []pages.Target
		for i, row := range oddSpellings() {
			for j, host := range row.odd {
				url := fmt.Sprintf("http://%s:%d/any", host, lab.CanaryPort)
				targets = append(targets, pages.Target{Tag: fmt.Sprintf("spelling-%d-%d", i, j), URL: url, Ways: ways[j%len(ways) : j%len(ways)+1]})
			}
		}
		// The same page's requests for public names in an odd spelling arrive: its browser understands them.
		for tag, host := range map[string]string{"case": "WWW." + strings.ToUpper(lab.PublicName), "dots": strings.ReplaceAll("www."+lab.PublicName, ".", "。"), "percent": "%77ww." + lab.PublicName} {
			targets = append(targets, pages.Target{Tag: tag, URL: fmt.Sprintf("http://%s:%d/any", host, lab.SitePort), Ways: ways})
		}
		attack.Page(ctx, l, s, targets)
		for _, tag := range []string{"case", "dots", "percent"} {
			for _, way := range ways {
				Eventually(ctx, func() bool { return attack.Arrived(l, tag, way) }).WithTimeout(5*time.Second).Should(BeTrue(),
					"the control: a public name, its spelling odd by its %s, is reached by %s", tag, way)
			}
		}
		neverAsked(l, "opening a page whose URLs spell private places oddly")
		untouched(ctx, l, s, "opening a page whose URLs spell private places oddly")
	})
}
