package canary

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	// maxFirst is how many bytes of a connection are kept.
	maxFirst = 1 << 10
	// patience is how long the first bytes may take; a client that stays silent is then let go.
	patience = 2 * time.Second
	// linger is how long a client may go on sending a body after its answer, so that it isn't reset before it has read it.
	linger = 500 * time.Millisecond
)

// serve reads the first bytes, completes the hit and answers what reads as HTTP.
func (c *Canary) serve(l Listener, conn net.Conn, hit *Hit) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	sni := ""
	if l.Network == TLS {
		raw := &head{Conn: conn}
		secured, name, err := c.handshake(raw)
		if err != nil {
			c.complete(hit, raw.first, name)
			return
		}
		conn, sni = secured, name
		c.complete(hit, nil, sni)
	}
	first := readFirst(conn, func(first []byte) { c.complete(hit, first, sni) })
	if requestLine(first) == "" {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(linger))
	if _, err := io.WriteString(conn, response(hit.Local.String())); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, conn)
}

// handshake is bounded by the connection's own deadline. The name is known even when the handshake fails later.
func (c *Canary) handshake(conn net.Conn) (*tls.Conn, string, error) {
	name := ""
	config := c.tls.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		if c.tls.GetConfigForClient != nil {
			return c.tls.GetConfigForClient(hello)
		}
		return nil, nil
	}
	secured := tls.Server(conn, config)
	err := secured.HandshakeContext(context.Background())
	return secured, name, err
}

// readFirst reads until it has a whole HTTP head, 1 KiB, or no more, and tells what it has after each read.
func readFirst(conn io.Reader, progress func([]byte)) []byte {
	first := make([]byte, 0, maxFirst)
	for len(first) < maxFirst {
		n, err := conn.Read(first[len(first):maxFirst])
		first = first[:len(first)+n]
		progress(first)
		if err != nil || bytes.Contains(first, []byte("\r\n\r\n")) {
			break
		}
	}
	return first
}

// response can be read by any page, preflights and requests to a more private network included.
func response(local string) string {
	body := "canary " + local
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\n"+
		"Access-Control-Allow-Origin: *\r\n"+
		"Access-Control-Allow-Methods: *\r\n"+
		"Access-Control-Allow-Headers: *\r\n"+
		"Access-Control-Allow-Private-Network: true\r\n"+
		"Cache-Control: no-store\r\n"+
		"Connection: close\r\n\r\n%s", len(body), body)
}

// head keeps the first bytes that are read through it.
type head struct {
	net.Conn
	first []byte
}

func (h *head) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.first = append(h.first, p[:min(n, maxFirst-len(h.first))]...)
	return n, err
}
