package canary

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"
)

// probing bounds one probe, and how many run at once.
const (
	probing   = 5 * time.Second
	probesMax = 32
)

// probe is a probe under way: its hit is known by the listener and by the port of the probing socket.
type probe struct {
	listener Listener
	port     uint16
}

func transport(network string) string {
	if network == UDP {
		return UDP
	}
	return TCP
}

// Probe connects to every listener at the address and port and checks that it answers (UDP: that the datagram
// arrives). Its hits are tagged and hidden. As connections are accepted in order, everything that reached these
// listeners before the probe has been written down when it returns.
func (c *Canary) Probe(ctx context.Context, addr netip.AddrPort) error {
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	var faults []error
	found := false
	for _, l := range c.listeners {
		if l.Addr == addr {
			found = true
			faults = append(faults, c.probe(ctx, l))
		}
	}
	if !found {
		return fmt.Errorf("probing the canary at %s: nothing listens there", addr)
	}
	return errors.Join(faults...)
}

// ProbeAll probes every listener and names each that doesn't answer.
func (c *Canary) ProbeAll(ctx context.Context) error {
	faults := make([]error, len(c.listeners))
	free := make(chan struct{}, probesMax)
	var running sync.WaitGroup
	for i, l := range c.listeners {
		free <- struct{}{}
		running.Go(func() {
			faults[i] = c.probe(ctx, l)
			<-free
		})
	}
	running.Wait()
	return errors.Join(faults...)
}

func (c *Canary) probe(ctx context.Context, l Listener) error {
	ctx, cancel := context.WithTimeout(ctx, probing)
	defer cancel()
	if err := c.connect(ctx, l); err != nil {
		return fmt.Errorf("probing the canary at %s: %w", l, err)
	}
	return nil
}

func (c *Canary) connect(ctx context.Context, l Listener) error {
	key := probe{listener: l}
	arrived := make(chan struct{})
	dialer := net.Dialer{Control: func(network, _ string, raw syscall.RawConn) error {
		port, err := bind(network, raw)
		if err != nil {
			return err
		}
		key.port = port
		c.mu.Lock()
		defer c.mu.Unlock()
		c.probes[key] = arrived
		return nil
	}}
	conn, err := dialer.DialContext(ctx, transport(l.Network), l.Addr.String())
	defer c.forget(key)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()

	if l.Network == UDP {
		if _, err := conn.Write([]byte("probe")); err != nil {
			return err
		}
	} else if err := ask(conn, l); err != nil {
		return err
	}
	select {
	case <-arrived:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for its hit: %w", ctx.Err())
	}
}

func (c *Canary) forget(key probe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.probes, key)
}

// ask sends a request and reads the canary's answer.
func ask(conn net.Conn, l Listener) error {
	if l.Network == TLS {
		// Whether the certificate is right is another matter: it only has to be this listener that answers.
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	if _, err := io.WriteString(conn, "GET /probe HTTP/1.1\r\nHost: "+l.Addr.String()+"\r\n\r\n"); err != nil {
		return fmt.Errorf("sending a request: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxFirst))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if want := "canary " + l.Addr.String(); !strings.HasSuffix(string(answer), want) {
		return fmt.Errorf("it answers %q, want it to end with %q", answer, want)
	}
	return nil
}

// bind gives a socket its port before it connects, so that its hit is known from the first moment.
func bind(network string, raw syscall.RawConn) (uint16, error) {
	var unspecified syscall.Sockaddr = &syscall.SockaddrInet4{}
	if strings.HasSuffix(network, "6") {
		unspecified = &syscall.SockaddrInet6{}
	}
	var port int
	var fault error
	err := raw.Control(func(fd uintptr) {
		if fault = syscall.Bind(int(fd), unspecified); fault != nil {
			return
		}
		var bound syscall.Sockaddr
		if bound, fault = syscall.Getsockname(int(fd)); fault != nil {
			return
		}
		switch bound := bound.(type) {
		case *syscall.SockaddrInet4:
			port = bound.Port
		case *syscall.SockaddrInet6:
			port = bound.Port
		}
	})
	if err = errors.Join(err, fault); err != nil {
		return 0, fmt.Errorf("binding the probe's socket: %w", err)
	}
	return uint16(port), nil
}
