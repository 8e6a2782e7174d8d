package canary

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// backoff keeps a loop whose socket fails for a while from spinning.
const backoff = time.Millisecond

// Options say what is listened on at every address. Port 0 takes a free one.
type Options struct {
	TCPPorts []uint16
	TLSPorts []uint16
	UDPPorts []uint16
	TLS      *tls.Config // needed with TLSPorts; has certificates or GetCertificate
}

// Listener is one socket of the canary.
type Listener struct {
	Network string // TCP, TLS or UDP
	Addr    netip.AddrPort
}

// String is such as "tcp 10.0.0.5:80".
func (l Listener) String() string { return l.Network + " " + l.Addr.String() }

// Canary is a set of listeners and their hits. Its methods may be used at once.
type Canary struct {
	listeners []Listener
	sockets   []io.Closer
	tls       *tls.Config
	running   sync.WaitGroup
	close     func() error

	mu     sync.Mutex // guards what follows
	hits   []*Hit
	open   map[net.Conn]bool // nil once closed
	probes map[probe]chan struct{}
}

// Start listens on every port at every address; IPv4-mapped addresses are listened on as IPv4, and each address once. It listens
// everywhere or fails, naming every address and port that couldn't be bound. ctx bounds the start only; the canary
// runs until Close.
func Start(ctx context.Context, addrs []netip.Addr, opts Options) (*Canary, error) {
	if err := check(addrs, opts); err != nil {
		return nil, fmt.Errorf("starting the canaries: %w", err)
	}
	c := &Canary{open: make(map[net.Conn]bool), probes: make(map[probe]chan struct{})}
	c.close = sync.OnceValue(c.shutdown)
	if opts.TLS != nil {
		c.tls = opts.TLS.Clone()
		c.tls.NextProtos = []string{"http/1.1"} // the only protocol that is answered
	}

	var faults []error
	seen := make(map[netip.Addr]bool)
	for _, addr := range addrs {
		addr = addr.Unmap()
		if seen[addr] {
			continue
		}
		seen[addr] = true
		for _, ports := range []struct {
			network string
			list    []uint16
		}{{TCP, opts.TCPPorts}, {TLS, opts.TLSPorts}, {UDP, opts.UDPPorts}} {
			for _, port := range ports.list {
				faults = append(faults, c.listen(ctx, Listener{ports.network, netip.AddrPortFrom(addr, port)}))
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the canaries: %w", err), c.Close())
	}
	return c, nil
}

func check(addrs []netip.Addr, opts Options) error {
	var faults []error
	if len(addrs) == 0 {
		faults = append(faults, errors.New("addresses: none given, want at least one"))
	}
	for i, addr := range addrs {
		if !addr.IsValid() {
			faults = append(faults, fmt.Errorf("addresses[%d]: is the zero value, want an IPv4 or IPv6 address", i))
		}
	}
	if len(opts.TCPPorts)+len(opts.TLSPorts)+len(opts.UDPPorts) == 0 {
		faults = append(faults, errors.New("ports: none given, want at least one of TCPPorts, TLSPorts, UDPPorts"))
	}
	usable := opts.TLS != nil && (len(opts.TLS.Certificates) > 0 || opts.TLS.GetCertificate != nil || opts.TLS.GetConfigForClient != nil)
	if len(opts.TLSPorts) > 0 && !usable {
		faults = append(faults, errors.New("TLS: has no certificate, but TLSPorts are given"))
	}
	return errors.Join(faults...)
}

// listen binds one socket and starts its loop.
func (c *Canary) listen(ctx context.Context, l Listener) error {
	var config net.ListenConfig
	if l.Network == UDP {
		packets, err := config.ListenPacket(ctx, UDP, l.Addr.String())
		if err != nil {
			return fmt.Errorf("listening on %s: %w", l, err)
		}
		l.Addr = netip.AddrPortFrom(l.Addr.Addr(), addrPort(packets.LocalAddr()).Port())
		c.keep(l, packets)
		c.running.Go(func() { c.receive(l, packets) })
		return nil
	}
	stream, err := config.Listen(ctx, TCP, l.Addr.String())
	if err != nil {
		return fmt.Errorf("listening on %s: %w", l, err)
	}
	// The address stays as it was asked for: a socket's own name has lost its zone.
	l.Addr = netip.AddrPortFrom(l.Addr.Addr(), addrPort(stream.Addr()).Port())
	c.keep(l, stream)
	c.running.Go(func() { c.accept(l, stream) })
	return nil
}

func (c *Canary) keep(l Listener, socket io.Closer) {
	c.listeners = append(c.listeners, l)
	c.sockets = append(c.sockets, socket)
}

// Listeners lists the sockets, with the ports that they got.
func (c *Canary) Listeners() []Listener { return slices.Clone(c.listeners) }

// Close stops listening, drops what is connected and waits until nothing of the canary runs. The hits stay readable.
func (c *Canary) Close() error { return c.close() }

func (c *Canary) shutdown() error {
	var faults []error
	for _, socket := range c.sockets {
		faults = append(faults, socket.Close())
	}
	c.mu.Lock()
	for conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
	c.mu.Unlock()
	c.running.Wait()
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("stopping the canaries: %w", err)
	}
	return nil
}

// accept files each connection before it takes the next, so that hits are in the order of arrival.
func (c *Canary) accept(l Listener, stream net.Listener) {
	for {
		conn, err := stream.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, or gone before it was accepted
			time.Sleep(backoff)
			continue
		}
		hit := c.file(l, Hit{Local: addrPort(conn.LocalAddr()), Remote: addrPort(conn.RemoteAddr())})
		if !c.hold(conn) {
			_ = conn.Close()
			return
		}
		c.running.Go(func() {
			defer c.release(conn)
			c.serve(l, conn, hit)
		})
	}
}

// hold keeps a connection, so that Close ends it; false once the canary is closed.
func (c *Canary) hold(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		return false
	}
	c.open[conn] = true
	return true
}

func (c *Canary) release(conn net.Conn) {
	c.mu.Lock()
	delete(c.open, conn)
	c.mu.Unlock()
	_ = conn.Close()
}

// receive files each datagram, and answers none: silence is what UDP has at a closed door too.
func (c *Canary) receive(l Listener, packets net.PacketConn) {
	buffer := make([]byte, 65535)
	for {
		n, from, err := packets.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(backoff)
			continue
		}
		c.file(l, Hit{Local: l.Addr, Remote: addrPort(from), FirstBytes: slices.Clone(buffer[:min(n, maxFirst)])})
	}
}

func addrPort(addr net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	switch addr := addr.(type) {
	case *net.TCPAddr:
		ap = addr.AddrPort()
	case *net.UDPAddr:
		ap = addr.AddrPort()
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
