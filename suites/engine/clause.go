// Package engine runs the specs of a contract inside a lab: it ties each spec to its clause, gives it a time limit, and
// tells a sink what became of it. Ginkgo executes; the registry of clauses judges.
package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/browser-sidecar/conformance/spec"
)

// labelPrefix marks the label that names a spec's clause.
const labelPrefix = "clause:"

// defaultTimeout is a spec's time limit where it names none: a clause must be judged in seconds.
const defaultTimeout = 40 * time.Second

// Clause ties a spec to the clause that it proves.
func Clause(id string) ginkgo.Labels { return ginkgo.Label(labelPrefix + id) }

// clauseOf is the one clause that a spec's labels name.
func clauseOf(labels []string) (string, error) {
	var ids []string
	for _, l := range labels {
		if id, ok := strings.CutPrefix(l, labelPrefix); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) != 1 {
		return "", fmt.Errorf("it must name one clause, and names %d: %q", len(ids), ids)
	}
	return ids[0], nil
}

// limitTime gives each It without a time limit of its own the default one.
func limitTime() {
	ginkgo.AddTreeConstructionNodeArgsTransformer(
		func(node types.NodeType, _ ginkgo.Offset, text string, args []any) (string, []any, []error) {
			limited := func(a any) bool { _, ok := a.(ginkgo.SpecTimeout); return ok }
			if node != types.NodeTypeIt || slices.ContainsFunc(args, limited) {
				return text, args, nil
			}
			return text, append(slices.Clone(args), ginkgo.SpecTimeout(defaultTimeout)), nil
		})
}

// Suite is a contract's specs, registered with Ginkgo, which has one tree for a whole process.
type Suite struct {
	contract *spec.Contract
	proved   map[string][]string
}

// New registers specs and builds their tree without running it. Every spec must name exactly one clause, by its own label
// or its table's, and the contract must have it.
func New(contract *spec.Contract, register func()) (*Suite, error) {
	limitTime()
	register()
	s := &Suite{contract: contract, proved: make(map[string][]string)}
	for _, r := range ginkgo.PreviewSpecs(contract.Name).SpecReports {
		if r.LeafNodeType != types.NodeTypeIt {
			continue
		}
		id, err := clauseOf(r.Labels())
		if err != nil {
			return nil, fmt.Errorf("the spec %q (%s): %w", r.FullText(), r.LeafNodeLocation, err)
		}
		if _, ok := contract.Clause(id); !ok {
			return nil, fmt.Errorf("the spec %q (%s) names the unknown clause %q", r.FullText(), r.LeafNodeLocation, id)
		}
		s.proved[id] = append(s.proved[id], r.FullText())
	}
	return s, nil
}

// Proved maps a clause's id to the names of the specs that prove it, in their order.
func (s *Suite) Proved() map[string][]string { return s.proved }

// Count is the number of specs of some clauses.
func (s *Suite) Count(clauses []string) int {
	n := 0
	for _, id := range clauses {
		n += len(s.proved[id])
	}
	return n
}
