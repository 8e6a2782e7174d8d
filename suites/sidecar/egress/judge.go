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

// rawWay is one of the two ways to ask a proxy for an authority. It reports what was granted, or nothing.
type rawWay struct {
	name string
	ask  func(ctx context.Context, p *lab.Proxy, authority string) (granted string, err error)
}

func rawWays() []rawWay {
	return []rawWay{
		{"plain", func(ctx context.Context, p *lab.Proxy, authority string) (string, error) {
			answer, err := p.Do(ctx, plain(authority))
			if err != nil || answer.Status >= 400 {
				return "", err
			}
			return answer.String(), nil
		}},
		{"connect", func(ctx context.Context, p *lab.Proxy, authority string) (string, error) {
			tunnel, answer, err := p.Connect(ctx, authority, "/status?code=200")
			if !tunnel {
				return "", err
			}
			return fmt.Sprintf("a tunnel, and through it: %s", answer), nil
		}},
	}
}

// refusedBy wants one request to be refused by an error status or a closed connection.
func refusedBy(ctx context.Context, way rawWay, p *lab.Proxy, authority string) {
	GinkgoHelper()
	granted, err := way.ask(ctx, p, authority)
	refusal(fmt.Sprintf("asking the proxy for %s (%s)", authority, way.name), granted, err)
}

// refusal wants a raw request to have had an error status or a closed connection.
func refusal(did, granted string, err error) {
	GinkgoHelper()
	if granted != "" {
		engine.Fail(did, []string{"an error status", "the connection closed"}, granted)
	}
	if !attack.HungUp(err) {
		Expect(err).NotTo(HaveOccurred(), did)
	}
}

// refusedRaw asks the proxy's own port for each authority, as a plain request and as CONNECT, and wants each refused.
func refusedRaw(ctx context.Context, l *lab.Lab, p *lab.Proxy, authorities []string) {
	GinkgoHelper()
	controlRaw(ctx, l, p)
	for _, authority := range authorities {
		for _, way := range rawWays() {
			refusedBy(ctx, way, p, authority)
		}
	}
	controlRaw(ctx, l, p)
}

// grantedRaw asks the proxy's own port for each public authority, as a plain request and as CONNECT, and wants both to
// reach a site.
func grantedRaw(ctx context.Context, p *lab.Proxy, authorities []string) {
	GinkgoHelper()
	for _, authority := range authorities {
		granted(ctx, p, authority, "")
	}
}

func granted(ctx context.Context, p *lab.Proxy, authority, role string) {
	GinkgoHelper()
	answer, err := p.Do(ctx, plain(authority))
	Expect(err).NotTo(HaveOccurred(), "%sasking the proxy for http://%s/", role, authority)
	Expect(answer.Status).To(Equal(200), "%sasking the proxy for http://%s/: %s", role, authority, answer)
	tunnel, answer, err := p.Connect(ctx, authority, "/status?code=200")
	Expect(err).NotTo(HaveOccurred(), "%sasking the proxy for CONNECT %s", role, authority)
	Expect(tunnel).To(BeTrue(), "%sasking the proxy for CONNECT %s: %s", role, authority, answer)
	Expect(answer.Status).To(Equal(200), "%sa request through the tunnel to %s", role, authority)
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
	granted(ctx, p, lab.Authority(l.Public(0), lab.SitePort), "the control: ")
}
