// Package sidecar registers the specs of the browser sidecar's contract, a package for each section.
package sidecar

import (
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/sidecar/admission"
	"github.com/browser-sidecar/conformance/suites/sidecar/cli"
	"github.com/browser-sidecar/conformance/suites/sidecar/config"
	"github.com/browser-sidecar/conformance/suites/sidecar/egress"
	"github.com/browser-sidecar/conformance/suites/sidecar/http"
	"github.com/browser-sidecar/conformance/suites/sidecar/mcp"
	"github.com/browser-sidecar/conformance/suites/sidecar/navigation"
	"github.com/browser-sidecar/conformance/suites/sidecar/tool"
)

// Register adds every spec, to run in the given lab.
func Register(l *lab.Lab) {
	admission.Specs(l)
	cli.Specs(l)
	config.Specs(l)
	egress.Specs(l)
	http.Specs(l)
	mcp.Specs(l)
	navigation.Specs(l)
	tool.Specs(l)
}
