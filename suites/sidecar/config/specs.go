// Package config proves what the sidecar takes as its start configuration, what it refuses, and how.
package config

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
)

// Specs registers the section's specs, and those of cli.invalid-config, which are about the same faults.
func Specs(l *lab.Lab) {
	Describe("config", func() {
		defaults(l)
		refusals(l)
		unknownKeys(l)
		private(l)
		mode(l)
	})
	Describe("cli", func() { invalid(l) })
}
