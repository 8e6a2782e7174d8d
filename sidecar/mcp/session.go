package mcp

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

const (
	maxSessions = 8
	maxIdle     = time.Hour // silence alone ends no session sooner (clause mcp.idle-session-long)
)

// Why a message is not answered, or a call is not finished.
var (
	errNoSession = &rpcError{codeUnknownSession, "Session not found"}
	errNoRoom    = &rpcError{codeServer, "Too many sessions are busy; try again shortly"}
	errClosed    = &rpcError{codeServer, "The session closed"}
	errStopping  = &rpcError{codeServer, "The browser is stopping"}
	errCancelled = &rpcError{codeServer, "The request was cancelled"}
	errTimeout   = &rpcError{codeTimeout, "The request timed out"}
)

// sessions are the ones that are open, and the calls under way in them.
type sessions struct {
	mu       sync.Mutex
	open     map[string]*session
	running  int           // tools at work, also for calls that are answered already
	stopping bool          // nothing begins any more
	drained  chan struct{} // closed when stopping and nothing is running
}

// session is one agent's. Its fields, except the first two, belong to sessions.mu.
type session struct {
	id    string
	tools Session
	users int       // messages being answered
	used  time.Time // when it was opened, or the last of them was done
	calls map[*call]struct{}
	ended *rpcError // why it is no longer open
}

// call is a tools/call under way. Several may have the same id, so it is never the key to one.
type call struct {
	id     string // as it was sent: 1 and "1" differ
	cancel context.CancelCauseFunc
}

func newSessions() *sessions {
	return &sessions{open: make(map[string]*session), drained: make(chan struct{})}
}

// begin opens a session. Where there are too many, the one that was idle longest makes room.
func (ss *sessions) begin(tools Session) (*session, *rpcError) {
	s := &session{id: rand.Text(), tools: tools, calls: make(map[*call]struct{})}
	ended, fault := ss.add(s)
	for _, e := range ended {
		e.tools.Close()
	}
	return s, fault
}

func (ss *sessions) add(s *session) (ended []*session, fault *rpcError) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.stopping {
		return nil, errStopping
	}
	s.used = time.Now()
	var idlest *session
	for _, other := range ss.open {
		switch {
		case other.users > 0:
		case expired(other):
			ended = append(ended, other)
		case idlest == nil || other.used.Before(idlest.used):
			idlest = other
		}
	}
	if len(ss.open)-len(ended) >= maxSessions {
		if idlest == nil {
			return nil, errNoRoom
		}
		ended = append(ended, idlest)
	}
	for _, e := range ended {
		ss.remove(e, errClosed)
	}
	ss.open[s.id] = s
	return ended, nil
}

func expired(s *session) bool { return time.Since(s.used) > maxIdle }

// remove takes a session out and ends its calls. The caller holds mu, and closes the session's tools later.
func (ss *sessions) remove(s *session, cause *rpcError) {
	delete(ss.open, s.id)
	s.ended = cause
	for c := range s.calls {
		c.cancel(cause)
	}
}

// enter finds a session for one message; leave must follow.
func (ss *sessions) enter(id string) (*session, *rpcError) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.stopping {
		return nil, errStopping
	}
	s := ss.open[id]
	if s == nil || s.users == 0 && expired(s) {
		return nil, errNoSession
	}
	s.users++
	return s, nil
}

func (ss *sessions) leave(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.users--
	s.used = time.Now()
}

// end ends one session and its calls, and reports whether there was one.
func (ss *sessions) end(id string) bool {
	ss.mu.Lock()
	s := ss.open[id]
	if s != nil {
		ss.remove(s, errClosed)
	}
	ss.mu.Unlock()
	if s == nil {
		return false
	}
	s.tools.Close()
	return true
}

// start enters a call that entered s. done must follow, when its tool has returned.
func (ss *sessions) start(s *session, c *call) *rpcError {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	s.calls[c] = struct{}{}
	ss.running++
	return nil
}

func (ss *sessions) done(s *session, c *call) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(s.calls, c)
	ss.running--
	if ss.stopping && ss.running == 0 {
		close(ss.drained)
	}
}

// cancel ends every call of s with this id.
func (ss *sessions) cancel(s *session, id string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for c := range s.calls {
		if c.id == id {
			c.cancel(errCancelled)
		}
	}
}

// stop ends every session and its calls; from then on nothing begins. It returns those that this call ended, whose tools
// are to be closed, and a channel that is closed when no tool is running.
func (ss *sessions) stop() (ended []*session, drained <-chan struct{}) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if !ss.stopping {
		ss.stopping = true
		if ss.running == 0 {
			close(ss.drained)
		}
	}
	for _, s := range ss.open {
		ended = append(ended, s)
		ss.remove(s, errStopping)
	}
	return ended, ss.drained
}
