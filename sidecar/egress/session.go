package egress

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

// A session is one client's connection. It owns at most one connection to an origin, which it keeps for the client's
// next request to the same authority: clients never share one, so no verdict serves anybody else.
type session struct {
	proxy    *Proxy
	client   *wire
	upstream *wire     // nil when there is none
	to       authority // of upstream
	reused   bool      // whether upstream has served an earlier request
	release  func() bool
}

// serve speaks to one client until either side ends or ctx does.
func (p *Proxy) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	s := &session{proxy: p, client: newWire(conn)}
	defer s.hangUp()
	for s.next(ctx) {
	}
}

// next serves one request and tells whether another may follow.
func (s *session) next(ctx context.Context) bool {
	if err := s.awaitRequest(); err != nil {
		return false
	}
	head, err := readHead(s.client.in, maxRequestHead)
	if errors.Is(err, errHeadTooLarge) {
		return s.refuseSyntax(&badRequest{status: 431, reason: err.Error()}, "")
	}
	if err != nil {
		return false
	}
	_ = s.client.conn.SetReadDeadline(time.Time{})
	r, err := parseRequest(head)
	if err != nil {
		return s.refuseSyntax(err, methodOf(head))
	}
	if r.method == "CONNECT" {
		s.tunnel(ctx, r)
		return false
	}
	return s.forward(ctx, r)
}

// awaitRequest waits for the first byte of a request and gives the rest of its head a shorter time.
func (s *session) awaitRequest() error {
	_ = s.client.conn.SetReadDeadline(time.Now().Add(s.proxy.limits.idle))
	if _, err := s.client.in.Peek(1); err != nil {
		return err
	}
	return s.client.conn.SetReadDeadline(time.Now().Add(s.proxy.limits.head))
}

// open makes upstream a connection to a: the one there is, if it leads to a and is still good, else a new one.
func (s *session) open(ctx context.Context, a authority) error {
	if s.upstream != nil && s.to == a && s.upstream.idle() {
		s.reused = true
		return nil
	}
	s.hangUp()
	conn, err := s.proxy.connect(ctx, a)
	if err != nil {
		return err
	}
	s.upstream, s.to, s.reused = newWire(conn), a, false
	s.release = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return nil
}

func (s *session) hangUp() {
	if s.upstream == nil {
		return
	}
	s.release()
	_ = s.upstream.conn.Close()
	s.upstream = nil
}

// tunnel serves CONNECT: bytes go both ways until both directions have ended.
func (s *session) tunnel(ctx context.Context, r *request) {
	s.hangUp() // a tunnel begins on a connection of its own
	if err := s.open(ctx, r.authority); err != nil {
		s.refuse(r, err)
		return
	}
	_, _ = s.client.out.WriteString("HTTP/1.1 200 Connection Established\r\n\r\n")
	if err := s.client.out.Flush(); err != nil {
		return
	}
	patience := s.proxy.limits.patience
	upstream, done := s.upstream, make(chan struct{})
	go func() {
		defer close(done)
		pump(upstream, s.client, patience)
	}()
	pump(s.client, upstream, patience)
	<-done
}

// forward serves a plain request and tells whether another may follow on the client's connection.
func (s *session) forward(ctx context.Context, r *request) bool {
	if err := s.open(ctx, r.authority); err != nil {
		return s.refuse(r, err)
	}
	x := newExchange(s.client, s.upstream, r, s.proxy.limits)
	if s.proxy.policy.exempt(r.authority) {
		x.answerTime = 0 // an app in the making may think for long
	}
	err := x.run()
	switch {
	case ctx.Err() != nil: // the proxy closes
		return false
	case err == nil:
		return true
	case errors.Is(err, errBodyBroken) && !x.begun.Load():
		return s.answer(400, r.method, "the request's body is malformed or broke off")
	case errors.Is(err, errUpstream):
		return s.broken(r, err)
	case errors.Is(err, errLastExchange):
		s.hangUp()
		s.linger()
	}
	return false
}

// broken ends a request whose origin went away unanswered. A connection that had served before is closed to the client
// just as the origin closed it, as without a proxy: the client knows which requests it may send again.
func (s *session) broken(r *request, err error) bool {
	s.hangUp()
	if s.reused && !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	return s.refuse(r, err)
}
