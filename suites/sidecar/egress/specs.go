// Package egress proves where a page may connect, judged by canaries at the destinations.
package egress

import (
	"github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
)

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	ginkgo.Describe("egress", func() {
		addresses(l)
		embedded(l)
		special(l)
		names(l)
		localNamed(l)
		searchList(l)
		splitAnswer(l)
		checkedAddress(l)
		rebinding(l)
		redirects(l)
		appExempt(l)
		public(l)
		streams(l)
		tunnels(l)
		oneAuthority(l)
		keptConnections(l)
		oneSpelling(l)
		proxyAlone(l)
		failClosed(l)
		fallback(l)
		hopHeaders(l)
		badDNS(l)
		deadHost(l)
		environment(l)
	})
}
