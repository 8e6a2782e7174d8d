// Package mcp proves the gateway that agents speak to: sessions, messages, ids, and calls side by side.
package mcp

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
)

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	Describe("mcp", func() {
		opening(l)
		sessions(l)
		state(l)
		idle(l)
		messages(l)
		get(l)
		reading(l)
		ids(l)
		overlapping(l)
		concurrent(l)
		cancelled(l)
	})
}
