// Package sidecar holds the browser sidecar contract: Markdown for vendors, and the registry of its clauses.
package sidecar

import (
	"embed"

	"github.com/browser-sidecar/conformance/spec"
)

//go:embed *.md pending.txt
var files embed.FS

// Contract reads the embedded contract. It fails only when the Markdown is faulty, which a test rules out.
func Contract() (*spec.Contract, error) { return spec.Load("sidecar", files) }
