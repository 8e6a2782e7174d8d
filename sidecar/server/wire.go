package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// net/http repairs some requests that RFC 9112 wants refused (it drops Content-Length beside Transfer-Encoding, merges
// equal Content-Length headers, ignores Transfer-Encoding in HTTP/1.0, joins folded lines, serves a CONNECT without
// Host) before a handler could see any of it. So each request's head is read strictly here first, and what it said is
// kept for the handler. The bytes that net/http gets are the client's own, unchanged.
//
// A refused head is replaced by standIn, which takes the request's place in line: answers keep their order, also where
// requests are pipelined, and refusals are answered by the same handler as everything else. Nothing is read after it.
//
// To find the next head a body's end must be known. Content-Length is counted. A chunked body's end is not looked for:
// nothing behind it is taken for a request, as the handler serves no request whose head wasn't read here, and closes.

// standIn is the request that net/http reads in place of a refused one.
const standIn = "GET / HTTP/1.1\r\nHost: refused\r\nConnection: close\r\n\r\n"

// listener hands out connections that read heads strictly, at most limits.Connections at once.
type listener struct {
	net.Listener
	limits   Limits
	stopping context.Context

	mu    sync.Mutex
	conns map[*conn]struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, ok := l.admit(nc); ok {
			return c, nil
		}
		// A fresh socket's buffer takes so short an answer at once.
		_ = nc.SetDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(nc, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\n"+
			"Cache-Control: no-store\r\nContent-Length: 32\r\n\r\n"+`{"error":"Too many connections"}`)
		_ = nc.Close()
	}
}

func (l *listener) admit(nc net.Conn) (*conn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) >= l.limits.Connections {
		return nil, false
	}
	c := &conn{Conn: nc, owner: l, in: bufio.NewReaderSize(nc, l.limits.HeadBytes)}
	l.conns[c] = struct{}{}
	return c, true
}

// closeUnused closes connections on which no request has come yet: net/http would wait five seconds for one.
func (l *listener) closeUnused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if !c.used.Load() {
			_ = c.Conn.Close()
		}
	}
}

// conn is a client's connection. Reads come from one goroutine at a time (net/http sees to that), so the reading state
// needs no lock; the heads are handed over to the handler's goroutine.
type conn struct {
	net.Conn
	owner *listener

	in      *bufio.Reader
	scanned int    // bytes of in that headEnd has seen
	pending []byte // a head, or standIn, of which net/http has not had everything yet
	body    int64  // bytes of the current request's body to come
	open    bool   // from here on bytes pass as they are
	refused bool   // a head was refused: nothing more is read

	mu    sync.Mutex
	heads []head

	used      atomic.Bool // a head was read
	lingering atomic.Bool // closing waits for the client to finish
	closing   sync.Once
}

func (c *conn) Read(p []byte) (int, error) {
	for len(p) > 0 {
		switch {
		case len(c.pending) > 0:
			n := copy(p, c.pending)
			c.pending = c.pending[n:]
			return n, nil
		case c.refused:
			return 0, io.EOF
		case c.open:
			return c.in.Read(p)
		case c.body > 0:
			n, err := c.in.Read(p[:min(int64(len(p)), c.body)])
			c.body -= int64(n)
			return n, err
		}
		if err := c.readHead(); err != nil {
			return 0, err // as it is: net/http looks at the error's own type
		}
	}
	return 0, nil
}

// readHead waits for a complete head. What has come of one is kept where the wait ends early, as net/http interrupts a
// read when a handler returns, and reads on.
func (c *conn) readHead() error {
	for {
		have, _ := c.in.Peek(c.in.Buffered())
		if len(have) >= 2 && have[0] == '\r' && have[1] == '\n' {
			_, _ = c.in.Discard(2) // RFC 9112 §2.2: empty lines before a request are ignored
			c.scanned = 0
			continue
		}
		end, f := headEnd(have, c.scanned)
		c.scanned = len(have)
		switch {
		case f != nil:
			c.take(head{fault: f}, nil)
			return nil
		case end > 0:
			text := string(have[:end])
			_, _ = c.in.Discard(end)
			c.scanned = 0
			c.take(parseHead(text), []byte(text))
			return nil
		case len(have) == c.in.Size():
			c.take(head{fault: &fault{http.StatusRequestHeaderFieldsTooLarge, "The request's head is too large"}}, nil)
			return nil
		}
		if _, err := c.in.Peek(len(have) + 1); err != nil {
			return err
		}
	}
}

// take queues a head for the handler, and its bytes for net/http.
func (c *conn) take(h head, text []byte) {
	c.used.Store(true)
	c.pending = text
	c.body, c.open = h.length, h.framing != sized
	if h.fault != nil {
		c.pending, c.refused = []byte(standIn), true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heads = append(c.heads, h)
}

// next returns the head of the request that net/http now serves, or a refusal where it was never read strictly.
func (c *conn) next() head {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.heads) == 0 {
		return head{fault: badRequest("Malformed request")}
	}
	h := c.heads[0]
	c.heads = c.heads[1:]
	return h
}

// Write gives each piece of an answer a time of its own, so that a client that reads nothing is cut, while an answer
// may be long in the making.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.owner.limits.WriteTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// CloseWrite ends the answers' side; net/http looks for it.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// linger lets Close wait until the client has sent what it is sending: closing a socket with unread bytes resets it,
// and the reset can overtake the answer (RFC 9112 §9.6).
func (c *conn) linger() { c.lingering.Store(true) }

func (c *conn) Close() (err error) {
	c.closing.Do(func() {
		if c.lingering.Load() {
			c.drain()
		}
		err = c.Conn.Close()
		c.owner.mu.Lock()
		defer c.owner.mu.Unlock()
		delete(c.owner.conns, c)
	})
	return err
}

// drain reads on, within bounds, until the client closes or the server stops.
func (c *conn) drain() {
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(c.owner.limits.LingerTime))
	stop := context.AfterFunc(c.owner.stopping, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, _ = io.CopyN(io.Discard, c.Conn, c.owner.limits.LingerBytes)
}
