// Package navigation proves what may be on screen: only pages of the app, whatever an agent asks for and wherever
// redirects lead.
package navigation

import (
	"github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
)

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	ginkgo.Describe("navigation", func() {
		appOnly(l)
		paths(l)
		redirectClosed(l)
		resultWithheld(l)
		betweenCallsTold(l)
		survives(l)
		frames(l)
	})
}
