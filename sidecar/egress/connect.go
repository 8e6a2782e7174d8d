package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxAddresses bounds how many of a name's addresses are tried.
const maxAddresses = 8

// A dialer connects to addresses that the policy has judged.
type dialer struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	timeout time.Duration // for one address
	total   time.Duration // for all addresses of a name
	stagger time.Duration // until the next address is tried beside the one that hasn't answered
}

// any returns the first connection that one of addrs accepts (as RFC 8305 §5 does, in the order given).
func (d dialer) any(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.total)
	defer cancel()
	addrs = addrs[:min(len(addrs), maxAddresses)]
	type attempt struct {
		conn net.Conn
		err  error
	}
	attempts := make(chan attempt)
	started, ended := 0, 0
	start := func() {
		addr := netip.AddrPortFrom(addrs[started], port)
		started++
		go func() {
			conn, err := d.one(ctx, addr)
			attempts <- attempt{conn, err}
		}()
	}
	var won net.Conn
	var first error
	next := time.NewTicker(d.stagger)
	defer next.Stop()
	start()
	for ended < started { // every attempt is waited for, the losing ones too
		select {
		case <-next.C:
			if won == nil && started < len(addrs) {
				start()
			}
		case a := <-attempts:
			ended++
			switch {
			case a.err == nil && won == nil:
				won = a.conn
				cancel()
			case a.err == nil:
				_ = a.conn.Close()
			case first == nil:
				first = a.err
			}
			if won == nil && started < len(addrs) && ctx.Err() == nil {
				start()
			}
		}
	}
	if won == nil {
		return nil, first
	}
	return won, nil
}

// one connects to addr and checks that the connection really ended there.
func (d dialer) one(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := d.dial(ctx, "tcp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || peer.Addr().Unmap() != addr.Addr().Unmap() || peer.Port() != addr.Port() {
		_ = conn.Close()
		return nil, errors.New("the connection ended at another address than the one that was judged")
	}
	return conn, nil
}

// code names the fault of an unreachable upstream as people know it: ECONNREFUSED, ETIMEDOUT and so on.
func code(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && unix.ErrnoName(errno) != "":
		return unix.ErrnoName(errno)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "ETIMEDOUT"
	}
	return "no valid answer"
}
