package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/canary"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// untouched wants no canary to have seen a packet, but for those that stand at an exempt place, and the sidecar to be
// alive.
func untouched(ctx context.Context, l *lab.Lab, s *lab.Sidecar, did string, exempt ...netip.AddrPort) {
	GinkgoHelper()
	attack.Alive(ctx, s)
	settle(ctx, l)
	hits := slices.DeleteFunc(l.Canaries.Hits(), func(h canary.Hit) bool { return slices.Contains(exempt, h.Local) })
	if len(hits) == 0 {
		return
	}
	var seen []string
	for _, h := range hits[:min(len(hits), 10)] {
		seen = append(seen, h.String())
	}
	engine.Fail(did, []string{"no packet at any canary"}, fmt.Sprintf("%d hits: %s", len(hits), strings.Join(seen, "; ")))
}

// settle waits until what has arrived at the canaries before now is written down.
func settle(ctx context.Context, l *lab.Lab) {
	GinkgoHelper()
	for _, a := range []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("10.0.0.5")} {
		engine.Harness(l.Canaries.Settle(ctx, netip.AddrPortFrom(a, lab.CanaryPort)))
	}
}

// proxy finds the sidecar's proxy, or ends the spec where the target hides it.
func proxy(ctx context.Context, s *lab.Sidecar) *lab.Proxy {
	GinkgoHelper()
	p, err := s.Proxy(ctx)
	if errors.Is(err, lab.ErrNoProxy) {
		engine.CouldNotRun("raw requests: %v", err)
	}
	Expect(err).NotTo(HaveOccurred(), "looking for the sidecar's proxy")
	return p
}

// refusedRaw asks the proxy's own port for each authority, as a plain request and as CONNECT, and wants each refused by
// an error status or a closed connection.
func refusedRaw(ctx context.Context, l *lab.Lab, p *lab.Proxy, authorities []string) {
	GinkgoHelper()
	controlRaw(ctx, l, p)
	for _, authority := range authorities {
		answer, err := p.Do(ctx, plain(authority))
		if !attack.HungUp(err) {
			Expect(err).NotTo(HaveOccurred(), "asking the proxy for http://%s/", authority)
			if answer.Status < 400 {
				engine.Fail(fmt.Sprintf("asking the proxy for http://%s/", authority),
					[]string{"a status of 400 or more", "the connection closed"}, answer.String())
			}
		}
		tunnel, answer, err := p.Connect(ctx, authority, "/")
		if tunnel {
			engine.Fail("asking the proxy for CONNECT "+authority, []string{"an error status", "the connection closed"},
				fmt.Sprintf("a tunnel, and through it: %s", answer))
		}
		if !attack.HungUp(err) {
			Expect(err).NotTo(HaveOccurred(), "asking the proxy for CONNECT %s", authority)
		}
	}
	controlRaw(ctx, l, p)
}

// grantedRaw asks the proxy's own port for each public authority, as a plain request and as CONNECT, and wants both to
// reach a site.
func grantedRaw(ctx context.Context, p *lab.Proxy, authorities []string) {
	GinkgoHelper()
	for _, authority := range authorities {
		answer, err := p.Do(ctx, plain(authority))
		Expect(err).NotTo(HaveOccurred(), "asking the proxy for http://%s/", authority)
		Expect(answer.Status).To(Equal(200), "asking the proxy for http://%s/: %s", authority, answer)
		tunnel, answer, err := p.Connect(ctx, authority, "/status?code=200")
		Expect(err).NotTo(HaveOccurred(), "asking the proxy for CONNECT %s", authority)
		Expect(tunnel).To(BeTrue(), "asking the proxy for CONNECT %s: %s", authority, answer)
		Expect(answer.Status).To(Equal(200), "a request through the tunnel to %s", authority)
	}
}

// reached opens a page that tries every public authority by some ways, and wants each to reach a site.
func reached(ctx context.Context, l *lab.Lab, s *lab.Sidecar, authorities []string, ways ...pages.Way) {
	GinkgoHelper()
	var targets []pages.Target
	for _, authority := range authorities {
		targets = append(targets, pages.Target{Tag: authority, URL: "http://" + authority + "/any", Ways: ways})
	}
	attack.Page(ctx, l, s, targets)
	for _, authority := range authorities {
		for _, way := range ways {
			Eventually(ctx, func() bool { return attack.Arrived(l, authority, way) }).WithTimeout(5*time.Second).Should(BeTrue(),
				"reaching http://%s/ by %s: the request arrives", authority, way)
		}
	}
}

// plain is a request in absolute form for the root of an authority, written as it stands.
func plain(authority string) lab.Request {
	return lab.Request{Method: "GET", Target: "http://" + authority + "/", Proto: "HTTP/1.1"}.
		Add("Host", authority).Add("Connection", "close")
}

// controlRaw is the positive control: the same two requests to a public address are granted.
func controlRaw(ctx context.Context, l *lab.Lab, p *lab.Proxy) {
	GinkgoHelper()
	authority := lab.Authority(l.Public(0), lab.SitePort)
	answer, err := p.Do(ctx, plain(authority))
	Expect(err).NotTo(HaveOccurred(), "the control: asking the proxy for http://%s/", authority)
	Expect(answer.Status).To(Equal(200), "the control: asking the proxy for http://%s/", authority)
	tunnel, answer, err := p.Connect(ctx, authority, "/status?code=200")
	Expect(err).NotTo(HaveOccurred(), "the control: CONNECT %s", authority)
	Expect(tunnel).To(BeTrue(), "the control: CONNECT %s: %s", authority, answer)
	Expect(answer.Status).To(Equal(200), "the control: a request through the tunnel to %s", authority)
}
