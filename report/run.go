package report

import (
	"fmt"
	"time"
)

// SchemaVersion is the version of the JSON that this package writes and reads.
const SchemaVersion = 1

// Run is a whole report. Every clause of the contract is in it, whatever was selected.
type Run struct {
	SchemaVersion int      `json:"schema_version"`
	Suite         Suite    `json:"suite"`
	Contract      Contract `json:"contract"`
	Target        Target   `json:"target"`
	// Started and Finished bound the run; both are UTC.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Seed gives the order of the specs: the same seed repeats it.
	Seed int64 `json:"seed"`
	// Options are the effective ones, so that a reader sees what was changed from the defaults.
	Options []Option `json:"options"`
	// Profiles are those that the target claims. Clauses of others are NOT_APPLICABLE.
	Profiles []string `json:"profiles"`
	Scope    Scope    `json:"scope"`
	// TargetNeverReady is why no target could be judged at all; empty otherwise.
	TargetNeverReady string `json:"target_never_ready,omitempty"`
	// HarnessError is why nothing in this run can be trusted, for example a lab that is not sealed; empty otherwise.
	HarnessError string         `json:"harness_error,omitempty"`
	Clauses      []ClauseResult `json:"clauses"`
	// Evidence lists the files beside the report with their digests, so that a copy can be checked offline.
	Evidence []EvidenceFile `json:"evidence"`
	Counts   Counts         `json:"counts"`
	Verdict  Verdict        `json:"verdict"`
}

// Suite is what judged.
type Suite struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Contract is what the target was judged by.
type Contract struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// TargetKind is how the target was supplied.
type TargetKind string

// The kinds of targets.
const (
	ImageTarget   TargetKind = "image"
	CommandTarget TargetKind = "command"
	URLTarget     TargetKind = "url"
)

// Target is what was judged.
type Target struct {
	Kind TargetKind `json:"kind"`
	// Identity is the image with its digest, the command line, or the URL.
	Identity string `json:"identity"`
	// Version is what the target itself reported; empty when it never said.
	Version string `json:"version,omitempty"`
}

// Option is one effective option and where its value came from: default, file, environment or flag.
type Option struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Scope says how much of the contract the verdict speaks about.
type Scope struct {
	// Selection is the filter as the user gave it; empty means everything.
	Selection []string `json:"selection"`
	// Long tells whether the long clauses were asked for.
	Long bool `json:"long"`
	// Complete is true when no clause was omitted: only then the verdict is about the whole contract, for the
	// claimed profiles.
	Complete bool `json:"complete"`
	// Omitted names every clause that was left out, by why.
	Omitted map[Omission][]string `json:"omitted"`
}

// Counts are the numbers behind the verdict.
type Counts struct {
	// Clauses is the size of the whole contract: the sum of all outcomes and omissions.
	Clauses int `json:"clauses"`
	// Executed are the clauses by which the target was really judged.
	Executed int              `json:"executed"`
	Outcomes map[Outcome]int  `json:"outcomes"`
	Omitted  map[Omission]int `json:"omitted"`
}

// Finish closes the run at the given time: it checks every clause's result, and computes counts, scope and verdict from
// them. A run that a reader could misunderstand is an error: a clause twice, or without an outcome, or without a reason.
func (r *Run) Finish(at time.Time) error {
	r.SchemaVersion = SchemaVersion
	r.Started, r.Finished = r.Started.UTC(), at.UTC()
	return r.compute()
}

// compute derives everything that follows from the clauses.
func (r *Run) compute() error {
	seen := make(map[string]bool, len(r.Clauses))
	for i := range r.Clauses {
		c := &r.Clauses[i]
		if err := c.check(); err != nil {
			return fmt.Errorf("finishing the report: %w", err)
		}
		if seen[c.ID] {
			return fmt.Errorf("finishing the report: clause %s is there twice", c.ID)
		}
		seen[c.ID] = true
	}
	r.Counts, r.Scope.Omitted = count(r.Clauses)
	r.Scope.Complete = len(r.Scope.Omitted) == 0
	r.Verdict = r.judge()
	return nil
}

func count(clauses []ClauseResult) (Counts, map[Omission][]string) {
	counts := Counts{
		Clauses:  len(clauses),
		Outcomes: make(map[Outcome]int),
		Omitted:  make(map[Omission]int),
	}
	for _, o := range Outcomes() {
		counts.Outcomes[o] = 0
	}
	omitted := make(map[Omission][]string)
	for i := range clauses {
		c := &clauses[i]
		if c.Omitted != "" {
			counts.Omitted[c.Omitted]++
			omitted[c.Omitted] = append(omitted[c.Omitted], c.ID)
			continue
		}
		counts.Outcomes[c.Outcome]++
		if c.Executed() {
			counts.Executed++
		}
	}
	return counts, omitted
}
