package main

import (
	"slices"
	"testing"

	"github.com/browser-sidecar/conformance/mutants"
)

func TestSampleDrawsOneMutantOfEachClause(t *testing.T) {
	all := []*mutants.Mutant{
		{Name: "a1", Clause: "a"},
		{Name: "a2", Clause: "a"},
		{Name: "a3", Clause: "a"},
		{Name: "b1", Clause: "b"},
		{Name: "c1", Clause: "c"},
		{Name: "c2", Clause: "c"},
	}
	drawn := make(map[string]bool)
	for seed := range int64(50) {
		first := sample(all, seed)
		var clauses []string
		for _, m := range first {
			clauses = append(clauses, m.Clause)
			drawn[m.Name] = true
		}
		if !slices.Equal(clauses, []string{"a", "b", "c"}) {
			t.Fatalf("seed %d: want one of each clause, got %v", seed, clauses)
		}
		if !slices.Equal(first, sample(all, seed)) {
			t.Errorf("seed %d draws other mutants the second time", seed)
		}
	}
	if len(drawn) != len(all) {
		t.Errorf("50 seeds drew only %v", drawn)
	}
}
