package lab

import (
	"context"
	"fmt"
)

// Tunnel is granted a tunnel to an authority, or fails: what the connection carries from then on is the destination's.
func (p *Proxy) Tunnel(ctx context.Context, authority string) (*Conn, error) {
	c, err := p.Dial(ctx)
	if err != nil {
		return nil, err
	}
	ask := Request{Method: "CONNECT", Target: authority, Proto: "HTTP/1.1"}.Add("Host", authority)
	if err := c.Send(ask.Bytes()); err != nil {
		_ = c.Close()
		return nil, err
	}
	answer, err := c.Receive("CONNECT")
	if err == nil && answer.Status/100 != 2 {
		err = fmt.Errorf("asking for a tunnel to %s: %s", authority, answer)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Read reads what the peer sends behind the last answer that was received.
func (c *Conn) Read(b []byte) (int, error) { return c.reader.Read(b) }
