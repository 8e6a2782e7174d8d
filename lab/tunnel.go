package lab

import (
	"context"
	"fmt"
)

// Tunnel is granted a tunnel to an authority, or fails: what the connection carries from then on is the destination's.
func (p *Proxy) Tunnel(ctx context.Context, authority string) (*Conn, error) {
	c, answer, err := p.connect(ctx, authority)
	if err != nil {
		return nil, err
	}
	if answer.Status/100 != 2 {
		_ = c.Close()
		return nil, fmt.Errorf("asking for a tunnel to %s: %s", authority, answer)
	}
	return c, nil
}

// connect asks for a tunnel to an authority and returns the connection with the proxy's own answer.
func (p *Proxy) connect(ctx context.Context, authority string) (*Conn, *Response, error) {
	c, err := p.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	ask := Request{Method: "CONNECT", Target: authority, Proto: "HTTP/1.1"}.Add("Host", authority)
	if err := c.Send(ask.Bytes()); err != nil {
		_ = c.Close()
		return nil, nil, err
	}
	answer, err := c.Receive("CONNECT")
	if err != nil {
		_ = c.Close()
		return nil, answer, err
	}
	return c, answer, nil
}

// Read reads what the peer sends behind the last answer that was received.
func (c *Conn) Read(b []byte) (int, error) { return c.reader.Read(b) }
