package egress

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

const (
	// atATime bounds the names without an answer that are asked for at once: a resolver of few threads must not look slow.
	atATime = 4
	// grownBy is by how much a sidecar's memory may grow over answers of at most 64 KiB.
	grownBy = 128 * mebibyte
	// promptly is how long a request may take beside others that hang.
	promptly = 5 * time.Second
)

// badAnswers are all the answers that lead nowhere: those without an address, those that can't be read, those that answer
// something else, and silence. What they seem to say is a private address, or one of which nothing answers.
func badAnswers() map[string]dns.Step {
	cut := dns.Empty().Truncated()
	all := map[string]dns.Step{
		"silent":        dns.Silent(),
		"cut-silent":    cut.OverTCP(dns.Silent()),
		"cut-noise":     cut.OverTCP(dns.Empty().Mangle(dns.Noise)),
		"cut-private":   privateAnswer().Truncated(),
		"noise":         privateAnswer().Mangle(dns.Noise),
		"short":         privateAnswer().Mangle(dns.CutShort),
		"pointer-loop":  dns.Empty().Mangle(dns.PointerLoop),
		"no-answer-bit": privateAnswer().WithoutQR(),
		"other-id":      privateAnswer().WrongID(),
		"other-name":    privateAnswer().Question("other.evil.test"),
		"behind-others": dns.Empty().Behind(privateAnswer().WrongID(), privateAnswer().Question("other.evil.test"), privateAnswer().WithoutQR()),
		"many":          dns.Answer(manyAway()...),
		"padded":        privateAnswer().Pad(60_000),
		"oversized":     privateAnswer().Pad(30_000).Oversized(),
		"itself":        dns.CNAME("itself.evil.test"),
		"there":         dns.CNAME("back.evil.test"),
	}
	maps.Copy(all, withoutAddress())
	return all
}

// manyAway are 4,000 public addresses that the lab doesn't have, as many as an answer can hold.
func manyAway() []netip.Addr {
	var all []netip.Addr
	for i := range 4000 {
		all = append(all, netip.AddrFrom4([4]byte{93, 185, byte(i / 250), byte(i%250 + 1)}))
	}
	return all
}

// scriptBad gives each bad answer, and an alias chain without end, a name for every suffix. Looked up more than twice, one
// turns private. It returns the names, those whose answers are slow to come first.
func scriptBad(l *lab.Lab, suffixes ...string) []string {
	GinkgoHelper()
	engine.Harness(l.DNS.Set("back.evil.test", dns.CNAME("there.evil.test")))
	engine.Harness(l.DNS.Set("there.evil.test", dns.CNAME("back.evil.test")))
	engine.Harness(l.DNS.Set("itself.evil.test", dns.CNAME("itself.evil.test")))
	engine.Harness(l.DNS.SetFunc("*.endless.evil.test", func(q dns.Query) dns.Step {
		return dns.CNAME(fmt.Sprintf("%d-%d.endless.evil.test", q.Time.UnixNano(), q.Nth))
	}))
	var all []string
	forms := slices.SortedFunc(maps.Keys(badAnswers()), func(a, b string) int { return slow(b) - slow(a) })
	for _, suffix := range suffixes {
		for _, form := range forms {
			name := form + "-" + suffix + ".evil.test"
			flipAfter(l, name, badAnswers()[form], 2)
			all = append(all, name)
		}
		all = append(all, suffix+".endless.evil.test")
	}
	return all
}

// slow tells the answers that a resolver waits for in vain.
func slow(form string) int {
	switch form {
	case "silent", "cut-silent", "cut-noise", "noise", "short", "pointer-loop", "no-answer-bit", "other-id", "other-name":
		return 1
	}
	return 0
}

func badDNS(l *lab.Lab) {
	// "SERVFAIL, truncated, looping and huge answers, and no answer at all, give the page an error within 30 seconds and never
	// end the process."
	It("answers a raw request with an error when DNS is bad", engine.Clause("egress.bad-dns"), SpecTimeout(5*time.Minute),
		func(ctx SpecContext) {
			// One of its own: what another spec made it hold would hide what this one does.
			s := attack.Start(ctx, l, nil)
			p := proxy(ctx, s)
			controlRaw(ctx, l, p)
			before, err := s.PeakMemory()
			engine.Harness(err)
			for names := range slices.Chunk(scriptBad(l, "raw"), atATime/2) {
				var authorities []string
				for _, name := range names {
					authorities = append(authorities, fmt.Sprintf("%s:%d", name, lab.CanaryPort))
				}
				for _, a := range atOnce(ctx, p, authorities) {
					refusal(a.did, a.granted, a.err)
					Expect(a.took).To(BeNumerically("<", inTime), "the time of %s", a.did)
				}
				answer, err := p.Do(ctx, plain("www."+lab.PublicName+":"+fmt.Sprint(lab.SitePort)))
				Expect(err).NotTo(HaveOccurred(), "the control: asking for a good name after %v", names)
				Expect(answer.Status).To(Equal(200), "the control: asking for a good name after %v: %s", names, answer)
			}
			peak, err := s.PeakMemory()
			engine.Harness(err)
			Expect(peak-before).To(BeNumerically("<", grownBy), "bytes by which the memory grew over bad answers of DNS")
			Expect(s.Process.Exited()).NotTo(BeClosed(), "the process, after bad answers of DNS")
			untouched(ctx, l, s, "asking the proxy for names of which DNS gives bad answers")
		})

	It("gives a page an error when DNS is bad", engine.Clause("egress.bad-dns"), SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		reach := pages.Reach{Timeout: inTime, Parallel: atATime}
		for i, name := range scriptBad(l, "http", "https") {
			// By both ways through the proxy. What is not http is CONNECT.
			url := fmt.Sprintf("http://%s:%d/any", name, lab.CanaryPort)
			if i >= len(badAnswers())+1 {
				url = fmt.Sprintf("https://%s:%d/any", name, lab.TLSPort)
			}
			reach.Targets = append(reach.Targets, pages.Target{Tag: name, URL: url, Ways: []pages.Way{pages.Fetch}})
		}
		for _, url := range []string{l.NameURL("www."+lab.PublicName, "/any"), l.SecureURL("www."+lab.PublicName, "/any")} {
			reach.Targets = append(reach.Targets, pages.Target{Tag: url, URL: url, Ways: []pages.Way{pages.Fetch}})
		}
		var results []pages.Result
		attack.Open(ctx, l, s, "/bad-dns", reach, reach.Longest(), &results)
		Expect(results).To(HaveLen(len(reach.Targets)), "the page's attempts")
		for _, r := range results {
			want := pages.Failed
			if r.Tag == l.NameURL("www."+lab.PublicName, "/any") || r.Tag == l.SecureURL("www."+lab.PublicName, "/any") {
				want = pages.OK
			}
			Expect(r.Outcome).To(Equal(want), "what a page sees of %s within %s: %s", r.Tag, inTime, r.Detail)
		}
		Expect(s.Process.Exited()).NotTo(BeClosed(), "the process, after bad answers of DNS")
		untouched(ctx, l, s, "opening a page that asks for names of which DNS gives bad answers")
	})
}
