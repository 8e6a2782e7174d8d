package lab

import (
	"context"
	"net/netip"
)

// AttemptsAt lists the attempts to open a TCP connection to an address, at any port, that were made before now. At a public
// address they are the target's: the suite itself goes there by the target's proxy. The sidecar must be alive.
func (s *Sidecar) AttemptsAt(ctx context.Context, addr netip.Addr) ([]Attempt, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	var found []Attempt
	for _, a := range s.lab.Tap.All() {
		if a.To.Addr() == addr {
			found = append(found, a)
		}
	}
	return found, nil
}
