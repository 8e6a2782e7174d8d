package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 20

// Request is one HTTP request as it goes over the wire: exactly these header lines in this order, nothing added but
// what the fields say. A spec starts from Sidecar.Get or Post and changes what it attacks.
type Request struct {
	Method, Target, Proto string
	// Header lines, without line ends.
	Header []string
	Body   []byte
}

// Set replaces every header line of that name, or adds one.
func (r Request) Set(name, value string) Request {
	return r.Without(name).Add(name, value)
}

// Add adds a header line.
func (r Request) Add(name, value string) Request {
	r.Header = append(slices.Clone(r.Header), name+": "+value)
	return r
}

// Without drops every header line of that name.
func (r Request) Without(name string) Request {
	r.Header = slices.DeleteFunc(slices.Clone(r.Header), func(line string) bool {
		got, _, _ := strings.Cut(line, ":")
		return strings.EqualFold(got, name)
	})
	return r
}

// To changes the request's target.
func (r Request) To(target string) Request {
	r.Target = target
	return r
}

// As changes the request's method.
func (r Request) As(method string) Request {
	r.Method = method
	return r
}

// Bytes is the request on the wire.
func (r Request) Bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\r\n", r.Method, r.Target, r.Proto)
	for _, line := range r.Header {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(r.Body)
	return b.Bytes()
}

// Response is an answer, read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	// Closed tells that the peer closed the connection after it.
	Closed bool
}

func (r *Response) String() string {
	if r == nil {
		return "no answer"
	}
	return fmt.Sprintf("status %d, %q", r.Status, cut(r.Body, 300))
}

func cut(b []byte, n int) []byte {
	if len(b) > n {
		return append(bytes.Clone(b[:n]), "…"...)
	}
	return b
}

// Do sends the request on a connection of its own and reads the answer. A connection that ends without a whole answer is
// an error.
func (s *Sidecar) Do(ctx context.Context, r Request) (*Response, error) {
	c, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Send(r.Bytes()); err != nil {
		return nil, err
	}
	return c.Receive(r.Method)
}

// Conn is a raw connection to the sidecar's HTTP port, written into the transcript.
type Conn struct {
	net.Conn
	transcript *Transcript
	reader     *bufio.Reader
	unhook     func() bool
}

// Dial opens a connection to the sidecar's HTTP port. It ends with ctx.
func (s *Sidecar) Dial(ctx context.Context) (*Conn, error) {
	return s.lab.dial(ctx, s.Addr)
}

func (l *Lab) dial(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	if local, err := netip.ParseAddrPort(conn.LocalAddr().String()); err == nil {
		l.own.add(local)
	}
	// A deadline would not do: Ginkgo cancels a spec's context at its time limit without having announced one.
	unhook := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return &Conn{Conn: conn, transcript: l.Transcript, reader: bufio.NewReader(conn), unhook: unhook}, nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.unhook()
	return c.Conn.Close()
}

// Send writes raw bytes.
func (c *Conn) Send(raw []byte) error {
	c.transcript.Add(">", c.RemoteAddr().String(), raw)
	if _, err := c.Write(raw); err != nil {
		return fmt.Errorf("writing a request: %w", err)
	}
	return nil
}

// CloseWrite ends this half of the connection.
func (c *Conn) CloseWrite() error {
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return errors.New("only a TCP connection has two halves")
	}
	return tcp.CloseWrite()
}

// Receive reads the answer to a request of the given method.
func (c *Conn) Receive(method string) (*Response, error) {
	answer, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		c.transcript.Add("<", "no answer: "+err.Error(), nil)
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	defer answer.Body.Close()
	if method == http.MethodConnect && answer.StatusCode/100 == 2 {
		// What follows is the tunnel's.
		c.transcript.Add("<", c.RemoteAddr().String()+" grants a tunnel: "+answer.Status, nil)
		return &Response{Status: answer.StatusCode, Header: answer.Header}, nil
	}
	head, err := httputil.DumpResponse(answer, false)
	if err != nil {
		return nil, fmt.Errorf("noting the answer: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	c.transcript.Add("<", c.RemoteAddr().String(), append(head, body...))
	if err != nil {
		return nil, fmt.Errorf("reading the answer's body: %w", err)
	}
	return &Response{Status: answer.StatusCode, Header: answer.Header, Body: body, Closed: answer.Close}, nil
}

// Closed reads and forgets what comes, and reports whether the peer closes within the given time.
func (c *Conn) Closed(within time.Duration) (bool, error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return false, fmt.Errorf("setting a deadline: %w", err)
	}
	_, err := io.Copy(io.Discard, c.reader)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout(), nil
}

// Silent reports whether nothing more comes within the given time; a close counts as silence.
func (c *Conn) Silent(within time.Duration) (silent, closed bool, err error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return false, false, fmt.Errorf("setting a deadline: %w", err)
	}
	_, err = c.reader.Peek(1)
	var timeout net.Error
	switch {
	case err == nil:
		return false, false, nil
	case errors.As(err, &timeout) && timeout.Timeout():
		return true, false, nil
	default:
		return true, true, nil
	}
}
