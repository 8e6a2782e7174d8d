package browser

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// conn is the DevTools connection. One goroutine reads, one writes; events are handled in the order of their arrival
// by the reading one, so handlers neither block nor wait for an answer.
type conn struct {
	pipe   *chromedp.PipeConn
	wake   chan struct{}
	closed chan struct{}
	tasks  sync.WaitGroup

	mu       sync.Mutex
	next     int64
	outgoing []*cdproto.Message
	waiting  map[int64]waiter
	sessions map[target.SessionID]*Session
	lost     bool
}

// waiter is told the answer of one command, in the reading goroutine.
type waiter struct {
	session *Session
	done    func(jsonv2.Value, error)
}

// Errors of commands whose answer can't come.
var (
	// ErrGone means that the tab or frame that a command was meant for is closed.
	ErrGone = errors.New("the page or frame is gone")
	// ErrCrashed means that the renderer of the page died.
	ErrCrashed = errors.New("the page crashed")
	// ErrStopped means that Chromium is gone.
	ErrStopped = errors.New("the browser stopped")
)

func newConn(pipe *chromedp.PipeConn) *conn {
	return &conn{
		pipe: pipe, wake: make(chan struct{}, 1), closed: make(chan struct{}),
		waiting: map[int64]waiter{}, sessions: map[target.SessionID]*Session{},
	}
}

// run starts both goroutines; they end when the pipe does.
func (c *conn) run() {
	c.tasks.Go(func() {
		defer c.end()
		for {
			message := new(cdproto.Message)
			if err := c.pipe.Read(context.Background(), message); err != nil {
				// A message that can't be decoded costs the connection: what it meant can't be known.
				return
			}
			c.receive(message)
		}
	})
	c.tasks.Go(func() {
		for {
			select {
			case <-c.wake:
			case <-c.closed:
				return
			}
			c.mu.Lock()
			batch := c.outgoing
			c.outgoing = nil
			c.mu.Unlock()
			for _, message := range batch {
				if err := c.pipe.Write(context.Background(), message); err != nil {
					return // the reading goroutine sees the end of the pipe as well
				}
			}
		}
	})
}

// end fails what waits and ends every session.
func (c *conn) end() {
	c.mu.Lock()
	c.lost = true
	waiting := c.waiting
	c.waiting = map[int64]waiter{}
	sessions := c.sessions
	c.sessions = map[target.SessionID]*Session{}
	c.mu.Unlock()
	for _, w := range waiting {
		w.done(nil, ErrStopped)
	}
	for _, s := range sessions {
		s.finish()
	}
	close(c.closed)
}

func (c *conn) receive(message *cdproto.Message) {
	c.mu.Lock()
	session := c.sessions[message.SessionID]
	w, answered := c.waiting[message.ID]
	if message.ID != 0 {
		delete(c.waiting, message.ID)
	}
	c.mu.Unlock()
	switch {
	case message.ID != 0 && answered:
		if message.Error != nil {
			w.done(nil, message.Error)
			return
		}
		w.done(message.Result, nil)
	case message.Method != "" && session != nil:
		session.handle(string(message.Method), message.Params)
	}
}

// send queues a command; done is called once, whatever happens.
func (c *conn) send(s *Session, method string, params any, done func(jsonv2.Value, error)) int64 {
	var body jsonv2.Value
	if params != nil {
		encoded, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
		if err != nil {
			done(nil, fmt.Errorf("encoding %s: %w", method, err))
			return 0
		}
		body = encoded
	}
	c.mu.Lock()
	if c.lost {
		c.mu.Unlock()
		done(nil, ErrStopped)
		return 0
	}
	if s.ended() {
		c.mu.Unlock()
		done(nil, ErrGone)
		return 0
	}
	c.next++
	id := c.next
	c.waiting[id] = waiter{session: s, done: done}
	c.outgoing = append(c.outgoing, &cdproto.Message{
		ID: id, SessionID: s.id, Method: cdproto.MethodType(method), Params: body,
	})
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return id
}

// forget drops a waiter whose caller gave up.
func (c *conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// open makes the session that Chromium named; handle gets its events, in order.
func (c *conn) open(id target.SessionID, handle func(method string, params jsonv2.Value)) *Session {
	s := &Session{conn: c, id: id, handle: handle, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		s.finish()
		return s
	}
	c.sessions[id] = s
	return s
}

// fail answers every command of the session that waits with err; close also ends the session.
func (c *conn) fail(s *Session, err error, closing bool) {
	c.mu.Lock()
	var failed []waiter
	for id, w := range c.waiting {
		if w.session == s {
			failed = append(failed, w)
			delete(c.waiting, id)
		}
	}
	if closing {
		delete(c.sessions, s.id)
		s.finish()
	}
	c.mu.Unlock()
	for _, w := range failed {
		w.done(nil, err)
	}
}

// closeSession ends the session that Chromium detached, if it is still known.
func (c *conn) closeSession(id target.SessionID) {
	c.mu.Lock()
	s := c.sessions[id]
	c.mu.Unlock()
	if s != nil && id != "" {
		c.fail(s, ErrGone, true)
	}
}

// Session speaks DevTools to one target: a tab, or a frame in a process of its own.
type Session struct {
	conn   *conn
	id     target.SessionID
	handle func(method string, params jsonv2.Value)
	once   sync.Once
	done   chan struct{}
}

func (s *Session) finish() { s.once.Do(func() { close(s.done) }) }

func (s *Session) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Do runs a command of the protocol and returns its result. Errors are ErrGone, ErrCrashed, ErrStopped, ctx's, or
// Chromium's own answer (a *cdproto.Error).
func Do[P, R any](ctx context.Context, s *Session, command cdp.Command[P, R], params P) (R, error) {
	type answer struct {
		result jsonv2.Value
		err    error
	}
	var result R
	answers := make(chan answer, 1)
	id := s.conn.send(s, command.Method, params, func(raw jsonv2.Value, err error) { answers <- answer{raw, err} })
	select {
	case got := <-answers:
		if got.err != nil {
			return result, fmt.Errorf("%s: %w", command.Method, got.err)
		}
		if err := jsonv2.Unmarshal(got.result, &result, chromedp.DefaultUnmarshalOptions); err != nil {
			return result, fmt.Errorf("decoding the answer of %s: %w", command.Method, err)
		}
		return result, nil
	case <-ctx.Done():
		s.conn.forget(id)
		return result, fmt.Errorf("%s: %w", command.Method, context.Cause(ctx))
	}
}

// Post sends a command whose answer nobody waits for. Commands of one session are handled in their order.
func Post[P, R any](s *Session, command cdp.Command[P, R], params P) {
	s.conn.send(s, command.Method, params, func(jsonv2.Value, error) {})
}

// on decodes an event's payload; an undecodable one is left out.
func on[E any](params jsonv2.Value, use func(E)) {
	var event E
	if jsonv2.Unmarshal(params, &event, chromedp.DefaultUnmarshalOptions) == nil {
		use(event)
	}
}
