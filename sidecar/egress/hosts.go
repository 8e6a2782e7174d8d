package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// An appResolver looks up the app's own name, which only this machine may know: by its hosts file (hosts(5)), as
// localhost (RFC 6761 §6.3), or by DNS.
type appResolver struct {
	path string // of the hosts file
	next Resolver
}

// Lookup implements Resolver.
func (r *appResolver) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	file, err := os.Open(r.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("reading the hosts file: %w", err)
	default:
		defer file.Close()
		addrs, err := hostsEntries(file, name)
		if err != nil || len(addrs) > 0 {
			return addrs, err
		}
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	return r.next.Lookup(ctx, name)
}

// hostsEntries returns the addresses of name in a hosts file. A line that makes no sense is passed over.
func hostsEntries(file io.Reader, name string) ([]netip.Addr, error) {
	var addrs []netip.Addr
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) < 2 || !slices.ContainsFunc(words[1:], func(word string) bool { return strings.EqualFold(word, name) }) {
			continue
		}
		if addr, err := netip.ParseAddr(words[0]); err == nil {
			addrs = append(addrs, addr)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the hosts file: %w", err)
	}
	return addrs, nil
}
