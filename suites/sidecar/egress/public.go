package egress

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	sites "github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

const mebibyte = 1 << 20

func public(l *lab.Lab) {
	// "Public addresses work from a page's frames, scripts and fetches, on any port that Chromium itself allows, for plain
	// HTTP, CONNECT and WebSocket."
	It("lets pages reach public places by every way", engine.Clause("egress.public-works"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			places := map[string]string{
				"address": l.PublicURL(1, "/any"),
				"ipv6":    l.PublicURL(3, "/any"),
				"name":    l.NameURL("www."+lab.PublicName, "/any"),
				"port":    fmt.Sprintf("http://%s/any", lab.Authority(l.Public(1), lab.RebindPort)),
				"https":   l.SecureURL("secure."+lab.PublicName, "/any"),
			}
			var targets []pages.Target
			for tag, place := range places {
				targets = append(targets, pages.Target{Tag: tag, URL: place})
			}
			attack.Page(ctx, l, s, targets)
			for tag, place := range places {
				for _, way := range pages.Ways() {
					if attack.MayBeOff(way) {
						continue
					}
					Eventually(ctx, func() bool { return attack.Arrived(l, tag, way) }).WithTimeout(5*time.Second).
						Should(BeTrue(), "reaching %s by %s: the request arrives", place, way)
				}
			}
			untouched(ctx, l, s, "opening a page that reaches public places")
		})

	// "A body of 50 MiB arrives whole …"
	It("brings a body of 50 MiB whole", engine.Clause("egress.public-works"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		const size, seed = 50 * mebibyte, 7
		path := fmt.Sprintf("/bytes?n=%d&seed=%d", size, seed)
		want := sites.BytesSHA256(size, seed)
		p := proxy(ctx, s)
		answer, err := p.Get(ctx, l.PublicURL(0, path))
		Expect(err).NotTo(HaveOccurred(), "fetching 50 MiB by a plain request")
		Expect(digest(answer.Body)).To(Equal(want), "the SHA-256 of %d bytes by a plain request", len(answer.Body))
		_, answer, err = p.Connect(ctx, lab.Authority(l.Public(0), lab.SitePort), path)
		Expect(err).NotTo(HaveOccurred(), "fetching 50 MiB through a tunnel")
		Expect(digest(answer.Body)).To(Equal(want), "the SHA-256 of %d bytes through a tunnel", len(answer.Body))

		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		// crypto.subtle needs a secure context, which http on loopback is.
		fetch := fmt.Sprintf(`() => { window.done = false; fetch(%q).then(r => r.arrayBuffer()).then(b => crypto.subtle.digest('SHA-256', b))
			.then(d => { window.sha = [...new Uint8Array(d)].map(x => x.toString(16).padStart(2, '0')).join(''); window.done = true })
			.catch(fault => { window.sha = String(fault); window.done = true }); return true }`, l.PublicURL(0, path))
		var started bool
		Expect(session.Evaluate(ctx, fetch, &started)).To(Succeed(), "fetching 50 MiB in a page")
		attack.Done(ctx, session, 40*time.Second)
		var got string
		Expect(session.Evaluate(ctx, "() => window.sha", &got)).To(Succeed(), "reading what the page fetched")
		Expect(got).To(Equal(want), "the SHA-256 of what the page fetched")
	})

	// "… for plain HTTP, CONNECT and WebSocket."
	It("carries a WebSocket both ways", engine.Clause("egress.public-works"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		for _, base := range []string{l.PublicURL(0, "/ws"), l.SecureURL("socket."+lab.PublicName, "/ws")} {
			socket := "ws" + strings.TrimPrefix(base, "http")
			echo := fmt.Sprintf(`() => new Promise((resolve, reject) => { const s = new WebSocket(%q);
				const sent = ['over', 'and', 'back', 'x'.repeat(1 << 20)], got = [];
				s.onopen = () => s.send(sent[0]);
				s.onmessage = m => { got.push(m.data === sent[got.length]); if (got.length < sent.length) return s.send(sent[got.length]);
					resolve(got); s.close() };
				s.onerror = () => reject(new Error('no socket')) })`, socket)
			var got []bool
			Expect(session.Evaluate(ctx, echo, &got)).To(Succeed(), "echoing through %s", socket)
			Expect(got).To(Equal([]bool{true, true, true, true}), "which of four messages came back whole through %s", socket)
		}
	})
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
