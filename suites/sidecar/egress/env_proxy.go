package egress

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// envProxy is a canary that the environment calls a proxy: nothing may ever arrive there.
const envProxy = "10.66.0.5:8000"

// inEnvironment starts a sidecar with variables in its environment, each in upper and in lower case.
func inEnvironment(ctx SpecContext, l *lab.Lab, variables map[string]string) *lab.Sidecar {
	GinkgoHelper()
	var env []string
	for name, value := range variables {
		env = append(env, name+"="+value, strings.ToLower(name)+"="+value)
	}
	c, err := l.BaseConfig()
	engine.Harness(err)
	s, err := l.StartWith(ctx, c, target.Options{Env: env})
	Expect(err).NotTo(HaveOccurred(), "starting a sidecar with a proxy in its environment")
	return s
}

func environment(l *lab.Lab) {
	exempted := []string{"10.0.0.5", "169.254.169.254", "127.0.0.1", "[fd66::5]", "named.evil.test"}

	// "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY in the sidecar's environment, in either case, change neither what a page
	// may reach nor where its connections go."
	DescribeTable("takes no notice of a proxy in its environment", engine.Clause("egress.env-proxy"),
		func(ctx SpecContext, variables map[string]string) {
			engine.Harness(l.DNS.Set("named.evil.test", dns.Answer(privatePair()...)))
			s := inEnvironment(ctx, l, variables)
			p := proxy(ctx, s)
			refusedRaw(ctx, l, p, authorities(exempted, lab.CanaryPort))
			answer, err := p.Do(ctx, plain(l.AppAddr().String()))
			Expect(err).NotTo(HaveOccurred(), "asking the proxy for the app")
			Expect(answer.Status).To(Equal(200), "asking the proxy for the app: %s", answer)

			// By the page's own ways, a browser that is told to pass its proxy by would connect.
			ways := []pages.Way{pages.Fetch, pages.Iframe}
			var targets []pages.Target
			for _, authority := range authorities(exempted, lab.CanaryPort) {
				targets = append(targets, pages.Target{Tag: authority, URL: "http://" + authority + "/any", Ways: ways})
			}
			for _, public := range []string{l.NameURL("www."+lab.PublicName, "/any"), l.SecureURL("www."+lab.PublicName, "/any")} {
				targets = append(targets, pages.Target{Tag: public, URL: public, Ways: ways})
			}
			attack.Page(ctx, l, s, targets)
			for _, t := range targets[len(exempted):] {
				Expect(attack.Arrived(l, t.Tag, pages.Fetch)).To(BeTrue(), "the control: the public %s is reached", t.URL)
			}
			untouched(ctx, l, s, fmt.Sprintf("opening pages of a sidecar whose environment has %v", variables))
		},
		Entry("for each scheme", map[string]string{"HTTP_PROXY": "http://" + envProxy, "HTTPS_PROXY": "http://" + envProxy}),
		Entry("for all, but for the private hosts", map[string]string{
			"ALL_PROXY": "socks5://" + envProxy, "NO_PROXY": "10.0.0.5,169.254.169.254,127.0.0.1,fd66::5,[fd66::5],.evil.test,named.evil.test,localhost",
		}),
		Entry("for all, but for every host", map[string]string{
			"HTTP_PROXY": "http://" + envProxy, "HTTPS_PROXY": "http://" + envProxy, "ALL_PROXY": "http://" + envProxy, "NO_PROXY": "*",
		}),
	)
}
