// Package spec reads a contract from Markdown that a person reads, and answers questions about its clauses.
//
// A contract is a folder. Its README.md is titled "# <title> · version <n>". A file with a line
//
//	Ids: `<prefix>.*` · Profile: <profile>
//
// below its title is a section, named by the file; every other file is a document without clauses. In a section a
// heading of the third level is a clause's id, and below it stand one line of facts, one paragraph, and sometimes a note:
//
//	### <prefix>.<words>
//	MUST · <profile> · fast · since 1 · doc §Heading · RFC 9112 §3.2
//
//	The sentence.
//
//	> Note: what helps.
//
// excluded.md has what can't be tested, each with an id, a sentence and a "> Reason: ". pending.txt lists, an id a line,
// the clauses that have no spec yet.
package spec

import "slices"

// Level is a clause's level, as RFC 2119 defines it.
type Level string

// The levels.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Clause is one sentence of a contract that a target keeps or breaks.
type Clause struct {
	// ID is made of words, such as "egress.rebinding-answer-flip". It is never reused.
	ID string `json:"id"`
	// Section is the file that has the clause, without ".md".
	Section string `json:"section"`
	Level   Level  `json:"level"`
	// Profile is the part of the contract that a vendor has to claim for the clause to count.
	Profile string `json:"profile"`
	// Source is one or more of "doc §Heading", "RFC n §m" and "invariant", joined by " · ". A MUST always has one.
	Source string `json:"source,omitempty"`
	// Long clauses need more than about ten seconds of waiting.
	Long bool `json:"long,omitempty"`
	// Since is the first version of the contract that has the clause.
	Since    int    `json:"since"`
	Sentence string `json:"sentence"`
	Note     string `json:"note,omitempty"`
}

// Exclusion is a sentence that belongs to the contract but can't be tested from outside.
type Exclusion struct {
	ID       string `json:"id"`
	Sentence string `json:"sentence"`
	Reason   string `json:"reason"`
}

// Contract is the registry of one contract's clauses.
type Contract struct {
	// Name is the short name that was given to [Load].
	Name string `json:"name"`
	// Title is the heading of the README.
	Title   string `json:"title"`
	Version int    `json:"version"`
	// Clauses stand by section in the order of the names, and within one as in the file.
	Clauses  []Clause    `json:"clauses"`
	Excluded []Exclusion `json:"excluded,omitempty"`
	// Pending are the ids of pending.txt, in the order of the file.
	Pending []string `json:"pending,omitempty"`
}

// Clause finds a clause by its id.
func (c *Contract) Clause(id string) (Clause, bool) {
	i := slices.IndexFunc(c.Clauses, func(clause Clause) bool { return clause.ID == id })
	if i < 0 {
		return Clause{}, false
	}
	return c.Clauses[i], true
}

// Profiles lists the profiles that the clauses have, sorted.
func (c *Contract) Profiles() []string {
	return c.values(func(clause Clause) string { return clause.Profile })
}

// Sections lists the sections that have clauses, sorted.
func (c *Contract) Sections() []string {
	return c.values(func(clause Clause) string { return clause.Section })
}

func (c *Contract) values(of func(Clause) string) []string {
	values := make([]string, 0, len(c.Clauses))
	for _, clause := range c.Clauses {
		values = append(values, of(clause))
	}
	slices.Sort(values)
	return slices.Compact(values)
}
