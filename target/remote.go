package target

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"syscall"
)

// Methods of the wire between a shard in the lab and the launcher on the host that starts containers for it.
const (
	MethodStart  = "target.start"
	MethodSignal = "target.signal"
	MethodRemove = "target.remove"
	EventOutput  = "target.output"
	EventExit    = "target.exit"
)

// StartParams asks for a container; the caller picks its number, so that output can't come before it is known.
type StartParams struct {
	Number  int     `json:"number"`
	Options Options `json:"options"`
}

// SignalParams asks for a signal to the container's first process.
type SignalParams struct {
	Number int            `json:"number"`
	Signal syscall.Signal `json:"signal"`
}

// RemoveParams asks for the container's end.
type RemoveParams struct {
	Number int `json:"number"`
}

// OutputEvent is a piece of what a container printed.
type OutputEvent struct {
	Number int    `json:"number"`
	Stderr bool   `json:"stderr,omitempty"`
	Data   []byte `json:"data"`
}

// ExitEvent comes after the container's last output.
type ExitEvent struct {
	Number int  `json:"number"`
	Exit   Exit `json:"exit"`
}

// Caller is the wire's side that a Remote speaks over.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
}

// Remote asks the launcher on the host for each sidecar.
type Remote struct {
	caller Caller

	mu        sync.Mutex
	processes map[int]*Process
	next      int
}

// NewRemote returns a Remote over the given wire, whose events must be handed to Event.
func NewRemote(c Caller) *Remote { return &Remote{caller: c, processes: make(map[int]*Process)} }

// Start asks for a container and returns once it runs.
func (r *Remote) Start(ctx context.Context, o Options) (*Process, error) {
	r.mu.Lock()
	r.next++
	number := r.next
	p := newProcess(&remoteControl{r.caller, number})
	r.processes[number] = p
	r.mu.Unlock()
	o.Args = o.args()
	if err := r.caller.Call(ctx, MethodStart, StartParams{number, o}, nil); err != nil {
		r.forget(number)
		return nil, fmt.Errorf("starting the target's container: %w", err)
	}
	return p, nil
}

// Event takes what the launcher tells of a container. It reports whether the event was about a target.
func (r *Remote) Event(method string, params json.RawMessage) (bool, error) {
	switch method {
	case EventOutput:
		var e OutputEvent
		if err := json.Unmarshal(params, &e); err != nil {
			return true, fmt.Errorf("reading a target's output: %w", err)
		}
		if p := r.process(e.Number); p != nil {
			out := p.Stdout
			if e.Stderr {
				out = p.Stderr
			}
			_, _ = out.Write(e.Data)
		}
	case EventExit:
		var e ExitEvent
		if err := json.Unmarshal(params, &e); err != nil {
			return true, fmt.Errorf("reading a target's exit: %w", err)
		}
		if p := r.process(e.Number); p != nil {
			p.ended(e.Exit)
			r.forget(e.Number)
		}
	default:
		return false, nil
	}
	return true, nil
}

func (r *Remote) process(number int) *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.processes[number]
}

func (r *Remote) forget(number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.processes, number)
}

type remoteControl struct {
	caller Caller
	number int
}

func (c *remoteControl) signal(ctx context.Context, s syscall.Signal) error {
	return c.caller.Call(ctx, MethodSignal, SignalParams{c.number, s}, nil)
}

func (c *remoteControl) remove(ctx context.Context) error {
	return c.caller.Call(ctx, MethodRemove, RemoveParams{c.number}, nil)
}
