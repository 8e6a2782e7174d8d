package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
)

// BringUp sets lo up and assigns the lab's addresses to it. It must run inside the lab's own network namespace, and
// refuses a namespace that has any other interface.
func BringUp() error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("listing network interfaces: %w", err)
	}
	for _, l := range links {
		if up := l.Attrs().Flags&net.FlagUp != 0; l.Attrs().Name != "lo" && up {
			return fmt.Errorf("network interface %s is up: this is no sealed network namespace", l.Attrs().Name)
		}
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("setting lo up: %w", err)
	}
	addrs := []netip.Addr{dnsAddr().Addr()}
	for _, a := range Table() {
		if a.Kind != RefusalOnly && a.Addr != netip.IPv6Loopback() && !isLoopback4(a.Addr) {
			addrs = append(addrs, a.Addr)
		}
	}
	for _, a := range addrs {
		if err := assign(lo, a); err != nil {
			return fmt.Errorf("assigning %s to lo: %w", a, err)
		}
	}
	return routed(addrs)
}

// routedWithin bounds the wait for the kernel's routes, which a busy machine makes long.
const routedWithin = 10 * time.Second

// routed waits until the kernel has a route to each address: it enters an IPv6 address's in the background, some time
// after the address itself.
func routed(addrs []netip.Addr) error {
	deadline := time.Now().Add(routedWithin)
	for _, a := range addrs {
		for {
			_, err := netlink.RouteGetWithOptions(a.AsSlice(), &netlink.RouteGetOptions{Oif: "lo"})
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("waiting for a route to %s: %w", a, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return nil
}

// isLoopback4 tells addresses that lo has anyway.
func isLoopback4(a netip.Addr) bool { return a.Is4() && a.IsLoopback() }

func assign(lo netlink.Link, a netip.Addr) error {
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}}
	if a.Is6() {
		// Without duplicate address detection the address is usable at once.
		addr.Flags = syscall.IFA_F_NODAD
	}
	if err := netlink.AddrAdd(lo, addr); err != nil && !errors.Is(err, syscall.EEXIST) {
		return err
	}
	return nil
}
