package dns

import (
	"fmt"
	"slices"
	"strings"
	"time"

	miekg "github.com/miekg/dns"
)

// maxChain bounds a chain of CNAMEs whose targets are made up as it goes.
const maxChain = 32

// script chooses the step for the nth lookup of a name and type.
type script func(q Query) Step

// lookup is what a sequence is counted by. A wildcard's names are counted one by one, so each runs the whole script.
type lookup struct {
	name  canonical
	qtype uint16
}

// Set scripts a name: the nth lookup of each type gets the nth step, and the last step repeats. Names are absolute and
// case doesn't matter. "*.zone" stands for every name below zone that has no script of its own; the longest zone wins. Setting a
// name again replaces its script and starts it from the beginning.
func (s *Server) Set(name string, steps ...Step) error {
	if len(steps) == 0 {
		return fmt.Errorf("scripting %q: no steps, want at least one", name)
	}
	for i, step := range steps {
		if err := step.check(); err != nil {
			return fmt.Errorf("scripting %q, step %d: %w", name, i+1, err)
		}
	}
	steps = slices.Clone(steps)
	return s.install(name, func(q Query) Step { return steps[min(q.Nth, len(steps))-1] })
}

// SetFunc scripts a name by a function, which may look at the time, at other events and at q.Nth. It may be called for
// several queries at once, may block for a while (other queries go on) and may use the server. A step that can't be sent is
// answered with SERVFAIL.
func (s *Server) SetFunc(name string, choose func(q Query) Step) error {
	if choose == nil {
		return fmt.Errorf("scripting %q: the function is nil", name)
	}
	return s.install(name, choose)
}

func (s *Server) install(name string, choose script) error {
	key, err := normalize(name)
	if err != nil {
		return fmt.Errorf("scripting %q: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[key] = choose
	for counted := range s.counts {
		if counted.name == key || s.covers(key, counted.name) {
			delete(s.counts, counted)
		}
	}
	return nil
}

// covers says whether a wildcard speaks for a name.
func (s *Server) covers(wildcard, name canonical) bool {
	zone, ok := strings.CutPrefix(string(wildcard), "*.")
	_, own := s.scripts[name]
	return ok && !own && (zone == "" || strings.HasSuffix(string(name), "."+zone))
}

// begin finds the script of a name and counts the lookup.
func (s *Server) begin(l lookup) (script, int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	choose, ok := s.scripts[l.name]
	for _, zone := range zones(l.name) {
		if ok {
			break
		}
		choose, ok = s.scripts["*."+zone]
	}
	if !ok {
		return nil, 0, false
	}
	s.counts[l]++
	return choose, s.counts[l], true
}

// zones lists what a name is below of, from the longest to the root, which is written as nothing.
func zones(name canonical) []canonical {
	starts := miekg.Split(string(name))
	if len(starts) == 0 {
		return nil
	}
	var list []canonical
	for _, start := range starts[1:] {
		list = append(list, name[start:])
	}
	return append(list, "")
}

// giveBack makes lookups not have happened: their answer was truncated, and a TCP query will finish them.
func (s *Server) giveBack(lookups []lookup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lookups {
		if s.counts[l] > 0 {
			s.counts[l]--
		}
	}
}

// outcome is what the scripts along a CNAME chain say together.
type outcome struct {
	records []miekg.RR
	rcode   Rcode
	nth     int      // of the name that was asked for
	used    []lookup // every lookup that the chain counted
	first   Step     // whose way of answering (wrong id, padding, …) is the answer's
	delay   time.Duration
	silent  bool
	cut     bool
}

// resolve walks the scripts from the name that was asked for along its CNAMEs.
func (s *Server) resolve(q Query, question miekg.Question) (outcome, error) {
	var out outcome
	seen := make(map[canonical]bool)
	owner, qtype := question.Name, question.Qtype // the wire's own case, for resolvers that check it
	for {
		name, err := normalize(owner)
		if err != nil || seen[name] || len(out.used) == maxChain {
			return out, err
		}
		seen[name] = true

		l := lookup{name: name, qtype: qtype}
		choose, nth, ok := s.begin(l)
		if !ok {
			out.rcode = NXDomain
			return out, nil
		}
		out.used = append(out.used, l)

		q.Name, q.Asked, q.Nth = withoutDot(string(name)), withoutDot(owner), nth
		step := choose(q)
		if err := step.check(); err != nil {
			return out, fmt.Errorf("checking the step for %s: %w", q.Name, err)
		}
		step = step.over(q.Transport)
		if len(out.used) == 1 {
			out.first, out.nth = step, nth
			if step.owner != "" {
				owner = step.owner
			}
		}
		out.delay += step.delay
		out.silent = out.silent || step.silent
		out.cut = out.cut || step.truncated
		out.rcode = step.rcode

		if step.target != "" {
			out.records = append(out.records, cname(owner, step))
			owner = step.target
		}
		out.records = append(out.records, addresses(owner, qtype, nth, step)...)
		if step.target == "" || len(step.addrs) > 0 || qtype == miekg.TypeCNAME {
			return out, nil
		}
	}
}
