package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrEmptySelection is the error of a [Contract.Select] whose names are all known but that no clause fits.
var ErrEmptySelection = errors.New("the selection is empty")

// Filter picks clauses. Names of one kind add up, different kinds narrow each other down, and a kind without names does
// not restrict.
type Filter struct {
	Profiles, Sections, Clauses []string
}

// Select returns the clauses that fit, in the contract's order. An unknown name is an error that gives the nearest known
// ones; a selection that nothing fits is [ErrEmptySelection].
func (c *Contract) Select(f Filter) ([]Clause, error) {
	if err := errors.Join(
		unknown("profile", f.Profiles, c.Profiles()),
		unknown("section", f.Sections, c.Sections()),
		unknown("clause", f.Clauses, c.values(func(clause Clause) string { return clause.ID })),
	); err != nil {
		return nil, err
	}
	var fit []Clause
	for _, clause := range c.Clauses {
		if has(f.Profiles, clause.Profile) && has(f.Sections, clause.Section) && has(f.Clauses, clause.ID) {
			fit = append(fit, clause)
		}
	}
	if len(fit) == 0 {
		return nil, fmt.Errorf("%w: no clause has all of it: %s", ErrEmptySelection, f)
	}
	return fit, nil
}

// String is the filter as a person would say it.
func (f Filter) String() string {
	var parts []string
	for _, kind := range []struct {
		word  string
		names []string
	}{{"profile", f.Profiles}, {"section", f.Sections}, {"clause", f.Clauses}} {
		if len(kind.names) > 0 {
			parts = append(parts, kind.word+" "+strings.Join(kind.names, " or "))
		}
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, ", ")
}

func has(names []string, name string) bool {
	return len(names) == 0 || slices.Contains(names, name)
}

// unknown complains about each name that is not known.
func unknown(kind string, names, known []string) error {
	var faults []error
	for _, name := range names {
		if !slices.Contains(known, name) {
			faults = append(faults, fmt.Errorf("unknown %s %q%s", kind, name, suggestion(name, known)))
		}
	}
	return errors.Join(faults...)
}

// suggestion is the end of an error about an unknown name: the three nearest known ones.
func suggestion(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	distances := make(map[string]int, len(known))
	for _, k := range known {
		distances[k] = distance(name, k)
	}
	sorted := slices.SortedFunc(slices.Values(known), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), strings.Compare(a, b))
	})
	return "; the nearest are " + strings.Join(sorted[:min(3, len(sorted))], ", ")
}

// distance is Levenshtein's, in bytes; of a long name only the beginning counts, so that it stays cheap.
func distance(a, b string) int {
	a = a[:min(len(a), 100)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
