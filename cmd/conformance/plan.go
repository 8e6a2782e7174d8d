package main

import (
	"fmt"
	"slices"

	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/spec"
)

// plan says, before anything runs, what becomes of each clause of the contract.
type plan struct {
	contract *spec.Contract
	// runnable are the clauses whose specs run, in the contract's order.
	runnable []string
	// settled are the results of all others.
	settled map[string]report.ClauseResult
	// profiles are those that the target claims.
	profiles []string
}

// newPlan sorts every clause: run, not applicable, left out, or impossible to run.
func newPlan(contract *spec.Contract, proved map[string][]string, o runOptions) (*plan, error) {
	selected, err := contract.Select(o.filter)
	if err != nil {
		return nil, err
	}
	for _, p := range o.profiles {
		if !slices.Contains(contract.Profiles(), p) {
			return nil, fmt.Errorf("--claim names the unknown profile %q; there are %q", p, contract.Profiles())
		}
	}
	inSelection := make(map[string]bool, len(selected))
	for _, c := range selected {
		inSelection[c.ID] = true
	}
	provable := make(map[string]bool)
	for _, c := range contract.Clauses {
		if len(proved[c.ID]) > 0 {
			provable[c.Profile] = true
		}
	}
	p := &plan{contract: contract, settled: make(map[string]report.ClauseResult), profiles: o.profiles}
	named := len(o.filter.Clauses) > 0
	for _, c := range contract.Clauses {
		rc := reportClause(c)
		switch {
		case !inSelection[c.ID]:
			p.settled[c.ID] = report.Omit(rc, report.Filtered, "the selection leaves it out")
		case !slices.Contains(o.profiles, c.Profile):
			p.settled[c.ID] = report.NotRun(rc, report.NotApplicable, "the target doesn't claim the profile "+c.Profile)
		case len(proved[c.ID]) == 0 && (named || !provable[c.Profile]):
			// It was asked for by name, or by a profile of which nothing can be judged: silence would look like success.
			p.settled[c.ID] = report.NotRun(rc, report.CouldNotRun, "the suite has no spec for it yet")
		case len(proved[c.ID]) == 0:
			p.settled[c.ID] = report.Omit(rc, report.Pending, "the suite has no spec for it yet")
		case c.Long && !o.long && !named:
			p.settled[c.ID] = report.Omit(rc, report.NotLong, "it takes long, and --long wasn't given")
		default:
			p.runnable = append(p.runnable, c.ID)
		}
	}
	if len(p.runnable) == 0 && !slices.ContainsFunc(contract.Clauses, func(c spec.Clause) bool {
		return p.settled[c.ID].Outcome == report.CouldNotRun
	}) {
		return nil, fmt.Errorf("the selection is empty: no clause of it has a spec that may run")
	}
	return p, nil
}

func reportClause(c spec.Clause) report.Clause {
	return report.Clause{
		ID: c.ID, Section: c.Section, Level: report.Level(c.Level), Profile: c.Profile, Source: c.Source,
		Sentence: c.Sentence, Long: c.Long,
	}
}
