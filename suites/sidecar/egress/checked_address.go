package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// answering scripts a name to give the nth address to the nth look-up, and the last to all later ones.
func answering(l *lab.Lab, name string, addrs []netip.Addr) {
	GinkgoHelper()
	var steps []dns.Step
	for _, a := range addrs {
		steps = append(steps, dns.Answer(a))
	}
	engine.Harness(l.DNS.Set(name, steps...))
}

// given tells whether an answer with the address had been given for the name before the request came.
func given(l *lab.Lab, name string, r app.Request) bool {
	return slices.ContainsFunc(l.DNS.QueriesFor(name), func(q dns.Query) bool {
		return q.Time.Before(r.Time) && slices.Contains(strings.Fields(q.Answer), r.Listener.Addr().String())
	})
}

func checkedAddress(l *lab.Lab) {
	// "The connection goes to an address that was in the answer that was checked."
	It("connects to an address of an answer that it checked", engine.Clause("egress.checked-address"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		for way, ask := range map[string]func(authority string) (*lab.Response, error){
			"plain":   func(a string) (*lab.Response, error) { return p.Do(ctx, plain(a)) },
			"connect": func(a string) (*lab.Response, error) { _, answer, err := p.Connect(ctx, a, "/"); return answer, err },
		} {
			for kind, sites := range map[string][]netip.Addr{
				"same-family":  {l.Public(0), l.Public(1), l.Public(2)},
				"other-family": {l.Public(0), l.Public(3), l.Public(1)},
			} {
				// Every look-up gives another site, so that the site tells which answer the connection was made by.
				name := fmt.Sprintf("told-%s-%s.evil.test", kind, way)
				answering(l, name, sites)
				answer, err := ask(fmt.Sprintf("%s:%d", name, lab.SitePort))
				Expect(err).NotTo(HaveOccurred(), "asking for %s by %s", name, way)
				Expect(answer.Status).To(Equal(200), "asking for %s by %s: %s", name, way, answer)
				arrived := l.Sites.RequestsTo(name, "/")
				Expect(arrived).NotTo(BeEmpty(), "the requests for %s at any site", name)
				Expect(given(l, name, arrived[0])).To(BeTrue(), "the request for %s arrives at %s: the address is in an answer for that name",
					name, arrived[0].Listener.Addr())
				used := slices.Index(sites, arrived[0].Listener.Addr())
				Expect(used).To(BeNumerically(">=", 0), "which of the answers %v was used", sites)
				// That answer was checked: were its address private, nothing would arrive.
				for i, private := range privates() {
					name := fmt.Sprintf("proof-%s-%s-%d.evil.test", kind, way, i)
					turned := slices.Clone(sites)
					turned[used] = private
					answering(l, name, turned)
					_, err := ask(fmt.Sprintf("%s:%d", name, lab.SitePort))
					Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "asking for %s by %s", name, way)
					Expect(l.DNS.QueriesFor(name)).NotTo(BeEmpty(), "the control: %s is looked up", name)
				}
			}
		}
		untouched(ctx, l, s, "asking for names that turn private in the answer that is used")
	})

	It("mixes no answers up among concurrent requests", engine.Clause("egress.checked-address"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		names := crossed(l)
		var crowd sync.WaitGroup
		for range 3 {
			for _, authority := range authorities(names, lab.SitePort) {
				crowd.Go(func() { _, _ = p.Do(ctx, plain(authority)) })
				crowd.Go(func() { _, _, _ = p.Connect(ctx, authority, "/") })
			}
		}
		crowd.Wait()
		straight(l, names)
		controlRaw(ctx, l, p)
	})

	It("mixes no answers up within a page", engine.Clause("egress.checked-address"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		names := crossed(l)
		reached(ctx, l, s, authorities(names, lab.SitePort), pages.Fetch, pages.Img, pages.Iframe, pages.EventSource)
		straight(l, names)
	})
}

// crossed scripts names that have two public sites of one family each, of which every look-up gives the other: no site
// belongs to two names. Below the search list they have another one.
func crossed(l *lab.Lab) []string {
	GinkgoHelper()
	var names []string
	for _, is4 := range []bool{true, false} {
		places := publicPlaces(is4)
		for ; len(places) >= 3; places = places[2:] {
			name, pair := fmt.Sprintf("crossed%d.evil.test", len(names)), places[:2]
			engine.Harness(l.DNS.SetFunc(name, func(q dns.Query) dns.Step { return dns.Answer(pair[q.Nth%2]) }))
			names = append(names, name)
		}
		engine.Harness(l.DNS.Set("*."+lab.SearchDomain, dns.Answer(places[0])))
	}
	return names
}

// straight wants every request for the names to have arrived at a site that its name had led to before, and each name to
// have been reached.
func straight(l *lab.Lab, names []string) {
	GinkgoHelper()
	for _, name := range names {
		host := fmt.Sprintf("%s:%d", name, lab.SitePort)
		n := 0
		for _, r := range l.Sites.Requests() {
			if r.Host != host {
				continue
			}
			n++
			Expect(given(l, name, r)).To(BeTrue(), "a request for %s arrives at %s: the address is in an answer for that name", name, r.Listener.Addr())
		}
		Expect(n).To(BeNumerically(">", 0), "the requests for %s at any site", name)
	}
}
