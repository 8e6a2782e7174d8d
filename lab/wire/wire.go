// Package wire carries calls, answers and events between the launcher on the host and the shard inside the lab, as JSON
// lines over a pair of pipes. Neither side needs a port or a socket, so that the lab's network stays sealed.
package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine bounds one message: a screenshot of evidence is a few MiB in base64.
const maxLine = 64 << 20

// message is a call (ID and Method), its answer (ID only) or an event (Method only).
type message struct {
	ID     uint64          `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Handler answers the peer's calls and takes its events, whose results are dropped. Events come one at a time and in
// order; a call gets a goroutine of its own.
type Handler interface {
	Call(ctx context.Context, method string, params json.RawMessage) (any, error)
	Event(method string, params json.RawMessage)
}

// Conn is one side of the wire. Its methods may be used at once.
type Conn struct {
	r io.Reader

	// writing is a lock of its own: a write blocks until the peer reads, and must not keep this side from reading.
	writing sync.Mutex
	w       io.Writer

	mu      sync.Mutex // guards what follows
	next    uint64
	waiting map[uint64]chan message
	closed  error
}

// New wraps a pair of streams. Nothing is read before Serve.
func New(r io.Reader, w io.Writer) *Conn {
	return &Conn{r: r, w: w, waiting: make(map[uint64]chan message)}
}

// Serve reads until the stream ends, and returns nil at its end. It waits for the calls that it is answering, whose
// context ends with the stream, and fails those that this side is still waiting for.
func (c *Conn) Serve(ctx context.Context, h Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	err := c.read(ctx, h, &calls)
	cancel()
	c.fail(err)
	calls.Wait()
	return err
}

func (c *Conn) read(ctx context.Context, h Handler, calls *sync.WaitGroup) error {
	lines := bufio.NewScanner(c.r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("reading a message of the wire: %w", err)
		}
		switch {
		case m.ID != 0 && m.Method != "":
			calls.Go(func() { c.answer(ctx, h, m) })
		case m.ID != 0:
			c.deliver(m)
		default:
			h.Event(m.Method, m.Params)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the wire: %w", err)
	}
	return nil
}

func (c *Conn) answer(ctx context.Context, h Handler, m message) {
	answer := message{ID: m.ID}
	result, err := h.Call(ctx, m.Method, m.Params)
	if err == nil {
		answer.Result, err = json.Marshal(result)
	}
	if err != nil {
		answer.Error = err.Error()
		if answer.Error == "" {
			answer.Error = "unknown error"
		}
	}
	// A peer that is gone can't be told; Serve reports the end of the stream.
	_ = c.send(answer)
}

func (c *Conn) deliver(m message) {
	c.mu.Lock()
	waiter, ok := c.waiting[m.ID]
	delete(c.waiting, m.ID)
	c.mu.Unlock()
	if ok {
		waiter <- m
	}
}

func (c *Conn) fail(err error) {
	if err == nil {
		err = io.EOF
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = err
	for id, waiter := range c.waiting {
		close(waiter)
		delete(c.waiting, id)
	}
}

// Call asks the peer and decodes its answer into result, which may be nil.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	waiter := make(chan message, 1)
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return fmt.Errorf("calling %s: the wire is closed: %w", method, c.closed)
	}
	c.next++
	id := c.next
	c.waiting[id] = waiter
	c.mu.Unlock()

	if err := c.encode(message{ID: id, Method: method}, params); err != nil {
		c.forget(id)
		return fmt.Errorf("calling %s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		c.forget(id)
		return fmt.Errorf("calling %s: %w", method, ctx.Err())
	case m, ok := <-waiter:
		if !ok {
			return fmt.Errorf("calling %s: the wire was closed", method)
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("reading the answer to %s: %w", method, err)
		}
		return nil
	}
}

func (c *Conn) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Notify sends an event.
func (c *Conn) Notify(method string, params any) error {
	if err := c.encode(message{Method: method}, params); err != nil {
		return fmt.Errorf("sending %s: %w", method, err)
	}
	return nil
}

func (c *Conn) encode(m message, params any) error {
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("encoding: %w", err)
		}
		m.Params = raw
	}
	return c.send(m)
}

func (c *Conn) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	// The peer's reader would give the whole wire up over it.
	if len(line) >= maxLine {
		return fmt.Errorf("a message of %d bytes is too long, want less than %d", len(line), maxLine)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
