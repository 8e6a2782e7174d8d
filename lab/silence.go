package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// Silence takes an address of the lab where nothing listens and lets every packet to it vanish: a host that never answers,
// neither by accepting nor by refusing. Close gives the address back.
func (l *Lab) Silence(ctx context.Context, at netip.AddrPort) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var fault error
		return errors.Join(raw.Control(func(fd uintptr) { fault = dropAll(int(fd)) }), fault)
	}}
	listener, err := config.Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("making %s silent: %w", at, err)
	}
	return listener, nil
}

// dropAll gives a socket a filter that lets no packet through, the first one of a connection included.
func dropAll(fd int) error {
	program := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &program[0]})
}
