package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
)

// unassigned are addresses of every kind that the lab doesn't have. A packet to one must find no way out.
func unassigned() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("93.184.216.99"), netip.MustParseAddr("10.99.99.99"),
		netip.MustParseAddr("192.168.99.99"), netip.MustParseAddr("169.254.99.99"), netip.MustParseAddr("2606:2800:220:1::99"),
		netip.MustParseAddr("fd99::99"),
	}
}

// CheckSeal proves, from inside, that nothing that isn't on lo can be reached: lo is the only interface, no route leaves
// it, and the kernel itself says so for addresses that the lab doesn't have. No packet is sent unless the seal is broken:
// the kernel refuses at connect, before a packet exists.
func CheckSeal(ctx context.Context) error {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("listing routes: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding lo: %w", err)
	}
	for _, r := range routes {
		if r.LinkIndex != lo.Attrs().Index {
			return fmt.Errorf("route %s leaves the lab", r)
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("listing network interfaces: %w", err)
	}
	for _, l := range links {
		if l.Attrs().Name != "lo" && l.Attrs().Flags&net.FlagUp != 0 {
			return fmt.Errorf("network interface %s is up", l.Attrs().Name)
		}
	}
	for _, a := range unassigned() {
		if err := unreachable(ctx, netip.AddrPortFrom(a, 443)); err != nil {
			return err
		}
	}
	return nil
}

func unreachable(ctx context.Context, to netip.AddrPort) error {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "udp", to.String())
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("the kernel has a route to %s: the lab is not sealed", to.Addr())
	}
	if !errors.Is(err, syscall.ENETUNREACH) && !errors.Is(err, syscall.EADDRNOTAVAIL) && !errors.Is(err, syscall.EHOSTUNREACH) {
		return fmt.Errorf("connecting to %s must be unreachable: %w", to.Addr(), err)
	}
	return nil
}
