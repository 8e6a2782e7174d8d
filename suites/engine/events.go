package engine

import (
	"encoding/json"
	"time"
)

// Order says what a shard is to run.
type Order struct {
	// Clauses are the selected ids; each must have a spec.
	Clauses []string `json:"clauses"`
	// Seed orders the specs; the same seed gives the same order.
	Seed int64 `json:"seed"`
	// Target says what the lab starts.
	Target TargetOrder `json:"target"`
}

// TargetOrder describes the sidecar under test.
type TargetOrder struct {
	// Kind is "command" or "image". Argv is the command's.
	Kind string   `json:"kind"`
	Argv []string `json:"argv,omitempty"`
	// Sandbox is the value of chromium_sandbox in the configuration; nil leaves the key out.
	Sandbox *bool `json:"sandbox,omitempty"`
	// ReadyWithin bounds the time from start to ready line.
	ReadyWithin time.Duration `json:"ready_within"`
}

// Events that a shard sends, in this order: Planned, then for each spec Began, Evidence*, Ended; or one of NeverReady and
// Broken at any time. Finished comes last.
const (
	EventPlanned    = "planned"
	EventBegan      = "began"
	EventEvidence   = "evidence"
	EventEnded      = "ended"
	EventNeverReady = "never-ready"
	EventBroken     = "broken"
	EventFinished   = "finished"
)

// Planned tells how many specs will run.
type Planned struct {
	Specs int `json:"specs"`
	// TargetVersion is what the sidecar's ready line said.
	TargetVersion string `json:"target_version"`
}

// Began names the spec that runs now.
type Began struct {
	Clause string `json:"clause"`
	Spec   string `json:"spec"`
}

// Evidence is one redacted piece of evidence of a spec that failed.
type Evidence struct {
	Clause string `json:"clause"`
	Spec   string `json:"spec"`
	Name   string `json:"name"`
	Data   []byte `json:"data"`
}

// Ended tells what became of a spec.
type Ended struct {
	Clause   string        `json:"clause"`
	Spec     string        `json:"spec"`
	Outcome  string        `json:"outcome"`
	Reason   string        `json:"reason,omitempty"`
	Duration time.Duration `json:"duration"`
	Failure  *Failure      `json:"failure,omitempty"`
}

// Failure says what was done, what would have been right, and what came.
type Failure struct {
	Did      string   `json:"did,omitempty"`
	Want     []string `json:"want,omitempty"`
	Got      string   `json:"got,omitempty"`
	Message  string   `json:"message"`
	Location string   `json:"location"`
}

// Reason is the payload of NeverReady and Broken.
type Reason struct {
	Reason string `json:"reason"`
}

// Sink takes a shard's events.
type Sink interface {
	Notify(method string, params any) error
}

// Decode reads an event's payload.
func Decode[T any](params json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(params, &v)
	return v, err
}
