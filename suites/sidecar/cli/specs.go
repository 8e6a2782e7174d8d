// Package cli proves how the sidecar's command starts, speaks and stops.
package cli

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
)

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	Describe("cli", func() {
		ready(l)
		usage(l)
		checks(l)
		taken(l)
		directories(l)
		signals(l)
		early(l)
		twice(l)
		expires(l)
		bounded(l)
		orphans(l)
		restarts(l)
		browserGone(l)
	})
}
