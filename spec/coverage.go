package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckCoverage compares the contract with its suite: proved has the names of each clause's specs. Every clause needs
// either a spec or an entry in pending.txt, and neither may name a clause that does not exist. The error has a line for
// each fault, in the order of the ids.
func (c *Contract) CheckCoverage(proved map[string][]string) error {
	known := make(map[string]bool, len(c.Clauses))
	for _, clause := range c.Clauses {
		known[clause.ID] = true
	}
	pending := make(map[string]bool, len(c.Pending))
	for _, id := range c.Pending {
		pending[id] = true
	}
	ids := slices.Concat(slices.Collect(maps.Keys(known)), c.Pending, slices.Collect(maps.Keys(proved)))
	slices.Sort(ids)
	var faults []error
	for _, id := range slices.Compact(ids) {
		specs := proved[id]
		switch {
		case !known[id]:
			faults = append(faults, c.unknownClause(id, specs, pending[id]))
		case len(specs) == 0 && !pending[id]:
			faults = append(faults, fmt.Errorf("the clause %s has neither a spec nor an entry in %s", id, pendingFile))
		case len(specs) > 0 && pending[id]:
			faults = append(faults, fmt.Errorf("%s lists %s, which has a spec: %s", pendingFile, id, quoted(specs)))
		}
	}
	return errors.Join(faults...)
}

// unknownClause says who names the clause that does not exist.
func (c *Contract) unknownClause(id string, specs []string, pending bool) error {
	var by []string
	if pending {
		by = append(by, pendingFile)
	}
	if len(specs) > 0 {
		by = append(by, "the spec "+quoted(specs))
	}
	if len(by) == 0 {
		by = []string{"the suite"}
	}
	ids := c.values(func(clause Clause) string { return clause.ID })
	return fmt.Errorf("%s: the clause %s is unknown%s", strings.Join(by, " and "), id, suggestion(id, ids))
}

func quoted(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(texts, ", ")
}
