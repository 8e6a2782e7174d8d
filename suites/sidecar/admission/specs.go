// Package admission proves that only those who may speak to the sidecar can.
package admission

import (
	"github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
)

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	ginkgo.Describe("admission", func() {
		tokens(l)
		hosts(l)
		origins(l)
		disguises(l)
		pagesOwn(l)
	})
}

// place is a path with a method that it has.
type place struct{ method, path string }

// places are known and unknown paths: routes must not be told apart by who may not speak.
func places() []place {
	return []place{
		{"GET", "/health"},
		{"POST", "/health"},
		{"HEAD", "/health"},
		{"POST", "/mcp"},
		{"DELETE", "/mcp"},
		{"GET", "/mcp"},
		{"GET", "/live"},
		{"GET", "/storage-state"},
		{"POST", "/tokens"},
		{"DELETE", "/tokens/x"},
		{"OPTIONS", "/health"},
		{"PROPFIND", "/health"},
		{"REPORT", "/mcp"},
		{"GET", "/mcp/"},
		{"GET", "/"},
		{"GET", "/nowhere"},
		{"PUT", "/nowhere/at/all"},
		{"PATCH", "/favicon.ico"},
		{"GET", "/health/"},
		{"GET", "/health?x=1"},
		{"GET", "/%68ealth"},
	}
}

func (p place) String() string { return p.method + " " + p.path }

// at is an admitted request for the place, with a body where the method usually has one.
func (p place) at(s *lab.Sidecar) lab.Request {
	if p.method == "POST" || p.method == "PUT" || p.method == "PATCH" {
		return s.Post(p.path, lab.InitializeBody(1)).As(p.method)
	}
	return s.Get(p.path).As(p.method)
}

// everywhere makes an attack of a change to an admitted request at every place.
func everywhere(s *lab.Sidecar, did string, want []int, change func(lab.Request) lab.Request) []attack.Attack {
	var attacks []attack.Attack
	for _, p := range places() {
		attacks = append(attacks, attack.Attack{Did: p.String() + " " + did, Request: change(p.at(s)), Want: want})
	}
	return attacks
}
