package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// maxInterim bounds the 1xx responses before the one that counts.
const maxInterim = 8

var (
	// errUpstream says that no response came; the client has been sent nothing.
	errUpstream = errors.New("no response")

	// errLastExchange says that all went well and that the client's connection serves no further request.
	errLastExchange = errors.New("the last exchange of its connection")
)

// past is a deadline that ends what is waiting.
func past() time.Time { return time.Unix(1, 0) }

// An exchange is one request on its way to the origin and its response on the way back, at the same time.
type exchange struct {
	client, upstream *wire
	request          *request
	answerTime       time.Duration // 0: none
	limits           limits

	sent  chan error  // whether the whole request is with the origin
	ended chan error  // how send ended
	begun atomic.Bool // a response has begun
	late  *time.Timer // ends the wait for one
}

func newExchange(client, upstream *wire, r *request, l limits) *exchange {
	return &exchange{
		client: client, upstream: upstream, request: r,
		answerTime: l.answer, limits: l,
		sent: make(chan error, 1), ended: make(chan error, 1),
	}
}

// run carries the request and its response over. Nil says that the client has begun another request.
func (x *exchange) run() error {
	if err := x.request.writeTo(x.upstream.out); err != nil {
		return fmt.Errorf("%w: %w", errUpstream, err)
	}
	go func() { x.ended <- x.send() }()
	err := x.receive()
	if err == nil { // send now waits for the client's next request, or its end
		_ = x.client.conn.SetReadDeadline(time.Now().Add(x.limits.idle))
	} else {
		_ = x.client.conn.SetReadDeadline(past())
		_ = x.upstream.conn.SetDeadline(past())
	}
	sendErr := <-x.ended
	if x.late != nil {
		x.late.Stop()
	}
	if err == nil || errors.Is(sendErr, errBodyBroken) && errors.Is(err, net.ErrClosed) {
		return sendErr
	}
	return err
}

// send passes the request's body on and then watches the client. One that has ended its side is not waited for long:
// one that has gone for good looks the same.
func (x *exchange) send() error {
	err := relayBody(x.upstream, x.request.body, x.client, x.request.body)
	x.sent <- err
	switch {
	case errors.Is(err, errBodyBroken):
		_ = x.upstream.conn.Close() // what the origin has got must not pass for the whole
		return err
	case err != nil: // the origin may have answered and closed
		_ = x.upstream.conn.SetReadDeadline(time.Now().Add(x.limits.patience))
		return err
	}
	x.limitWait()
	_, err = x.client.in.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		_ = x.upstream.conn.SetReadDeadline(time.Now().Add(x.limits.patience))
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded): // that one is run's own doing
		_ = x.upstream.conn.Close()
	}
	return err
}

// limitWait ends the wait for a response after answerTime.
func (x *exchange) limitWait() {
	if x.answerTime == 0 {
		return
	}
	x.late = time.AfterFunc(x.answerTime, func() {
		if !x.begun.Load() {
			_ = x.upstream.conn.SetReadDeadline(past())
		}
	})
}

// receive passes the response on. Nil says that the client's connection may serve another request.
func (x *exchange) receive() error {
	resp, err := x.readResponse()
	if err != nil {
		return fmt.Errorf("%w: %w", errUpstream, err)
	}
	body := resp.framedFor(x.request.minor)
	again := x.request.keepAlive() && body.kind != untilClose
	resp.writeTo(x.client.out, body, !again)
	if err := relayBody(x.client, body, x.upstream, resp.body); err != nil {
		return fmt.Errorf("passing a response on: %w", err)
	}
	select {
	case err := <-x.sent:
		if err != nil {
			return errLastExchange
		}
	case <-time.After(x.limits.linger): // the origin answered before it had heard all
		return errLastExchange
	}
	if !resp.keepAlive() || x.upstream.in.Buffered() > 0 {
		_ = x.upstream.conn.Close()
	}
	if !again {
		return errLastExchange
	}
	return nil
}

// readResponse reads the response's head; interim ones (RFC 9110 §15.2) go to the client as they come.
func (x *exchange) readResponse() (*response, error) {
	for range maxInterim {
		head, err := readHead(x.upstream.in, maxResponseHead)
		if err != nil {
			return nil, err
		}
		resp, err := parseResponse(head, x.request.method)
		if err != nil {
			return nil, err
		}
		switch {
		case resp.status == 101:
			return nil, errors.New("the origin changes the protocol without being asked to")
		case !resp.interim():
			x.begun.Store(true)
			return resp, nil
		}
		if x.request.minor > 0 {
			resp.writeTo(x.client.out, resp.body, false)
			if err := x.client.out.Flush(); err != nil {
				return nil, fmt.Errorf("passing an interim response on: %w", err)
			}
		}
	}
	return nil, fmt.Errorf("the origin sent %d interim responses and no other", maxInterim)
}
