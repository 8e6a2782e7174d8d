package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/browser-sidecar/conformance/fakes/canary"
)

// Canaries listen at every address that isn't public, where nothing of a page may ever arrive.
type Canaries struct {
	all   []*canary.Canary
	marks []canary.Mark
}

// StartCanaries starts them and checks that each answers: an address that nobody answers at can't be told from one that
// the target refuses.
func StartCanaries(ctx context.Context, config *tls.Config) (*Canaries, error) {
	options := canary.Options{
		TCPPorts: []uint16{80, CanaryPort, SitePort}, TLSPorts: []uint16{443, TLSPort}, UDPPorts: []uint16{443, 3478}, TLS: config,
	}
	c := &Canaries{}
	if err := c.start(ctx, []netip.Addr{appAddr().Addr()}, options); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	// The app's port is guarded everywhere but at the app's own address.
	options.TCPPorts = append(options.TCPPorts, appAddr().Port())
	if err := c.start(ctx, guarded(), options); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.Reset()
	return c, nil
}

func (c *Canaries) start(ctx context.Context, addrs []netip.Addr, o canary.Options) error {
	one, err := canary.Start(ctx, addrs, o)
	if err != nil {
		return err
	}
	c.all = append(c.all, one)
	if err := one.ProbeAll(ctx); err != nil {
		return fmt.Errorf("probing: %w", err)
	}
	return nil
}

// guarded are the addresses of the table that a canary listens at: all but the app's own and those that a page may reach.
func guarded() []netip.Addr {
	var addrs []netip.Addr
	for _, a := range Table() {
		switch {
		case a.Class.public() || a.Addr == appAddr().Addr():
		case a.Kind == Reachable:
			addrs = append(addrs, a.Addr)
		case a.Kind == RawWithZone:
			addrs = append(addrs, a.Addr.WithZone("lo"))
		}
	}
	return addrs
}

// Hits lists what arrived since the last Reset.
func (c *Canaries) Hits() []canary.Hit {
	var hits []canary.Hit
	for i, one := range c.all {
		hits = append(hits, one.HitsSince(c.marks[i])...)
	}
	slices.SortFunc(hits, func(a, b canary.Hit) int { return a.Time.Compare(b.Time) })
	return hits
}

// Settle makes sure that whatever arrived at the given place before is among the hits.
func (c *Canaries) Settle(ctx context.Context, at netip.AddrPort) error {
	for _, one := range c.all {
		for _, l := range one.Listeners() {
			if l.Addr == at {
				return one.Probe(ctx, at)
			}
		}
	}
	return fmt.Errorf("no canary listens at %s", at)
}

// Reset forgets what arrived.
func (c *Canaries) Reset() {
	c.marks = c.marks[:0]
	for _, one := range c.all {
		c.marks = append(c.marks, one.Mark())
	}
}

// Close stops them.
func (c *Canaries) Close() error {
	var errs []error
	for _, one := range c.all {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
