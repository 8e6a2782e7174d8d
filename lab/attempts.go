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

// Attempts lists who tried to connect to a port, by whatever address, but for the suite itself. The sidecar must be alive.
func (s *Sidecar) Attempts(ctx context.Context, port int) ([]Attempt, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	var found []Attempt
	seen := make(map[string]bool)
	for _, a := range s.lab.Tap.To(port) {
		// A packet that got no answer is sent again from the same port.
		if !seen[a.String()] && !s.lab.own.has(a.From) {
			seen[a.String()] = true
			found = append(found, a)
		}
	}
	return found, nil
}
