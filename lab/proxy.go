package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// ErrNoProxy tells that no listening socket of the target speaks as a forward proxy, so that raw requests can't be tried.
var ErrNoProxy = errors.New("no loopback listener of the target answers as a forward proxy")

// Proxy is the target's forward proxy, spoken to in raw bytes: a browser's own refusals would hide what it lets through.
type Proxy struct {
	Addr string

	lab *Lab
}

// Proxy finds the sidecar's forward proxy among its listening sockets: the one that fetches a public page.
func (s *Sidecar) Proxy(ctx context.Context) (*Proxy, error) {
	listeners, err := s.Listeners()
	if err != nil {
		return nil, err
	}
	for _, l := range listeners {
		if int(l.Addr.Port()) == s.Port {
			continue
		}
		addr := l.Addr
		if addr.Addr().IsUnspecified() {
			addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
		}
		p := &Proxy{Addr: addr.String(), lab: s.lab}
		control := s.lab.PublicURL(0, "/status?code=200")
		if answer, err := p.Get(ctx, control); err == nil && answer.Status == 200 {
			return p, nil
		}
	}
	return nil, ErrNoProxy
}

// Dial opens a raw connection to the proxy.
func (p *Proxy) Dial(ctx context.Context) (*Conn, error) { return p.lab.dial(ctx, p.Addr) }

// Get asks for an http URL in absolute form.
func (p *Proxy) Get(ctx context.Context, url string) (*Response, error) {
	authority, ok := strings.CutPrefix(url, "http://")
	if !ok {
		return nil, fmt.Errorf("only http URLs go to a proxy in absolute form, not %q", url)
	}
	authority, _, _ = strings.Cut(authority, "/")
	return p.Do(ctx, Request{Method: "GET", Target: url, Proto: "HTTP/1.1"}.Add("Host", authority).Add("Connection", "close"))
}

// Do sends one request on a connection of its own.
func (p *Proxy) Do(ctx context.Context, r Request) (*Response, error) {
	c, err := p.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Send(r.Bytes()); err != nil {
		return nil, err
	}
	return c.Receive(r.Method)
}

// Connect asks for a tunnel to an authority and sends a request through it where it is granted. The answer is the
// proxy's own when it refuses, else what came through the tunnel.
func (p *Proxy) Connect(ctx context.Context, authority, path string) (tunnel bool, answer *Response, err error) {
	c, answer, err := p.connect(ctx, authority)
	if err != nil {
		return false, answer, err
	}
	defer c.Close()
	if answer.Status/100 != 2 {
		return false, answer, nil
	}
	get := Request{Method: "GET", Target: path, Proto: "HTTP/1.1"}.Add("Host", authority).Add("Connection", "close")
	if err := c.Send(get.Bytes()); err != nil {
		return true, nil, err
	}
	answer, err = c.Receive("GET")
	return true, answer, err
}
