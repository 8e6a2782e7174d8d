package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/browser-sidecar/conformance/lab/wire"
)

// patience is how long a shard that was told to stop may take to put things away before it is ended by force.
const patience = 15 * time.Second

// Shard is a running process of the suite inside a lab.
type Shard struct {
	conn *wire.Conn
	// hangUp ends the shard's input, which tells it to stop. It may be called again.
	hangUp func() error
	// end waits for the shard, by force when ctx is done, and frees what was started for it.
	end func(ctx context.Context) (int, error)
	// calls answers the shard; nil for a lab that needs nothing of the host.
	calls func(ctx context.Context, method string, params json.RawMessage) (bool, error)
}

// Run sends the order to the shard and hands each of its events to event, one at a time, until the shard has ended.
// When ctx is done the shard is told to stop, and gets a bounded time for it. It returns the shard's exit code. It must
// be called once, and frees everything.
func (s *Shard) Run(ctx context.Context, order any, event func(method string, params json.RawMessage)) (int, error) {
	if err := s.conn.Notify("order", order); err != nil {
		return s.finish(ctx, fmt.Errorf("sending the order to the lab: %w", err))
	}
	served := make(chan error, 1)
	// The calls of a shard that is putting things away must still be answered.
	go func() { served <- s.conn.Serve(context.WithoutCancel(ctx), handler{s.calls, event}) }()
	select {
	case err := <-served:
		return s.finish(ctx, err)
	case <-ctx.Done():
	}
	// finish does without it.
	_ = s.hangUp()
	select {
	case err := <-served:
		return s.finish(ctx, err)
	case <-time.After(patience):
		code, err := s.finish(ctx, fmt.Errorf("the lab did not stop within %s", patience))
		return code, errors.Join(err, <-served)
	}
}

func (s *Shard) finish(ctx context.Context, err error) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	// One that can't be told is ended by force.
	_ = s.hangUp()
	code, endErr := s.end(ctx)
	return code, errors.Join(err, endErr)
}

type handler struct {
	calls func(ctx context.Context, method string, params json.RawMessage) (bool, error)
	event func(method string, params json.RawMessage)
}

func (h handler) Call(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if h.calls != nil {
		if handled, err := h.calls(ctx, method, params); handled {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the host has no call %q", method)
}

func (h handler) Event(method string, params json.RawMessage) { h.event(method, params) }

// newShard wires a shard's streams.
func newShard(out io.Reader, in io.WriteCloser) *Shard {
	return &Shard{conn: wire.New(out, in), hangUp: sync.OnceValue(in.Close)}
}
