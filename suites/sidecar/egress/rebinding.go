package egress

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// privates are the addresses that a rebinding name turns to: one of each class.
func privates() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("10.0.0.5"),
		netip.MustParseAddr("fd66::5"),
	}
}

// flip is a script that gives a public address to the first n look-ups of each type, and a private one to all later ones.
func flip(l *lab.Lab, n int, private netip.Addr) []dns.Step {
	// Both families flip at once: an IPv6 private address needs a public one of its own family before it.
	steps := make([]dns.Step, 0, n+1)
	for range n {
		steps = append(steps, dns.Answer(l.Public(0), l.Public(3)))
	}
	return append(steps, dns.Answer(private))
}

// publicAttempts counts the connections to public addresses at the canaries' port, where no site listens.
func publicAttempts(l *lab.Lab) int {
	n := 0
	for _, a := range l.Tap.To(lab.CanaryPort) {
		if a.To.Addr() == l.Public(0) || a.To.Addr() == l.Public(3) {
			n++
		}
	}
	return n
}

func rebinding(l *lab.Lab) {
	// "A name that gives a public address at one look-up and a private one at the next never leads to the private one: not
	// between two requests …"
	It("isn't led to a private address between two requests", engine.Clause("egress.rebinding-answer-flip"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		for i, private := range privates() {
			for n := 1; n <= 3; n++ {
				name := fmt.Sprintf("between%d-%d.evil.test", i, n)
				engine.Harness(l.DNS.Set(name, flip(l, n, private)...))
				authority := fmt.Sprintf("%s:%d", name, lab.SitePort)
				answer, err := p.Do(ctx, plain(authority))
				Expect(err).NotTo(HaveOccurred(), "the control: the first request to %s", name)
				Expect(answer.Status).To(Equal(200), "the control: the first request to %s, which resolves to a public address", name)
				for range 4 {
					_, err = p.Do(ctx, plain(authority))
					Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "a later request to %s", name)
					_, _, err = p.Connect(ctx, authority, "/")
					Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "a later CONNECT to %s", name)
				}
			}
		}
		untouched(ctx, l, s, "asking again and again for a name whose answer turns private")
	})

	// "… within one page load …"
	It("isn't led to a private address within one page load", engine.Clause("egress.rebinding-answer-flip"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			var urls []string
			poll := pages.Rebind{Path: "/secret", Times: 10, Interval: 100 * time.Millisecond, Timeout: 2 * time.Second}
			for i, private := range privates() {
				name := fmt.Sprintf("page%d.evil.test", i)
				engine.Harness(l.DNS.Set(name, flip(l, 1, private)...))
				attack.Rebound(l, name, "/frame", poll)
				urls = append(urls, l.NameURL(name, "/frame"))
			}
			attack.Done(ctx, attack.Frames(ctx, l, s, urls, len(urls)), poll.Longest())
			for i := range privates() {
				attack.Polled(l, fmt.Sprintf("page%d.evil.test", i), "/frame", poll)
			}
			untouched(ctx, l, s, "opening pages of names whose answers turn private while they poll")
		})

	// "… between the check and the connection …"
	It("connects to what it checked, not to what the name says next", engine.Clause("egress.rebinding-answer-flip"),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			for i, private := range privates() {
				for n := 1; n <= 2; n++ {
					for way, ask := range map[string]func(authority string) error{
						"plain":   func(a string) error { _, err := p.Do(ctx, plain(a)); return err },
						"connect": func(a string) error { _, _, err := p.Connect(ctx, a, "/"); return err },
					} {
						name := fmt.Sprintf("check%d-%d-%s.evil.test", i, n, way)
						engine.Harness(l.DNS.Set(name, flip(l, n, private)...))
						Expect(ask(fmt.Sprintf("%s:%d", name, lab.SitePort))).To(Or(Succeed(), MatchError(attack.HungUp, "hung up")),
							"one request to %s", name)
						Expect(l.DNS.QueriesFor(name)).NotTo(BeEmpty(), "the control: %s is looked up", name)
					}
				}
			}
			untouched(ctx, l, s, "asking once for names whose second answer is private")
		})

	// "… after a failed connection …"
	It("isn't led to a private address after a failed connection", engine.Clause("egress.rebinding-answer-flip"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		for i, private := range privates() {
			name := fmt.Sprintf("failed%d.evil.test", i)
			engine.Harness(l.DNS.Set(name, flip(l, 1, private)...))
			// Public sites don't listen at the canaries' port, so the checked address refuses.
			authority := fmt.Sprintf("%s:%d", name, lab.CanaryPort)
			before := publicAttempts(l)
			for range 3 {
				answer, err := p.Do(ctx, plain(authority))
				if !attack.HungUp(err) {
					Expect(err).NotTo(HaveOccurred(), "asking for %s", authority)
					Expect(answer.Status).To(BeNumerically(">=", 400), "asking for %s, where nothing listens", authority)
				}
				tunnel, answer, err := p.Connect(ctx, authority, "/")
				Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "CONNECT %s", authority)
				if answer != nil && tunnel {
					engine.Fail("CONNECT "+authority+", where nothing listens", []string{"an error"}, answer.String())
				}
			}
			Eventually(ctx, func() int { return publicAttempts(l) }).WithTimeout(5*time.Second).Should(BeNumerically(">", before),
				"the control: connections to the public addresses of %s are tried", name)
		}
		controlRaw(ctx, l, p)
		untouched(ctx, l, s, "asking for names whose answer turns private once the public address has refused")
	})

	// "… or among 50 concurrent requests."
	It("isn't led to a private address among 50 concurrent requests", engine.Clause("egress.rebinding-answer-flip"),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			for i, private := range privates() {
				name := fmt.Sprintf("crowd%d.evil.test", i)
				engine.Harness(l.DNS.SetFunc(name, func(q dns.Query) dns.Step {
					if q.Nth%2 == 1 {
						return dns.Answer(l.Public(0), l.Public(3))
					}
					return dns.Answer(private)
				}))
				authority := fmt.Sprintf("%s:%d", name, lab.SitePort)
				var crowd sync.WaitGroup
				var mu sync.Mutex
				granted := 0
				for range 50 {
					crowd.Go(func() {
						answer, err := p.Do(ctx, plain(authority))
						if err == nil && answer.Status == 200 {
							mu.Lock()
							granted++
							mu.Unlock()
						}
					})
				}
				crowd.Wait()
				Expect(granted).To(BeNumerically(">", 0), "the control: some of the 50 requests to %s get the public answer", name)
			}
			untouched(ctx, l, s, "asking 50 times at once for names whose every second answer is private")
		})
}
