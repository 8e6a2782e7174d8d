package dns

import (
	"net/netip"
	"time"
)

// The transports of a query.
const (
	UDP = "udp"
	TCP = "tcp"
)

// Query is one question that arrived. Along a CNAME chain only the client's own question is one.
type Query struct {
	Time      time.Time      // of arrival
	Name      string         // in lower case, without the final dot
	Asked     string         // as it was on the wire, without the final dot
	Type      string         // such as "A", "AAAA", "HTTPS"
	Nth       int            // which lookup of this name and type it is, from 1; 0 where no script was asked
	Client    netip.AddrPort // who asked
	Transport string         // UDP or TCP
	Answer    string         // such as "NOERROR 10.0.0.5", "NXDOMAIN", "silent"; empty while a function still decides
}

// Queries lists what was asked since the start or the last Reset, in the order of arrival.
func (s *Server) Queries() []Query {
	return s.queries(func(*Query) bool { return true })
}

// QueriesFor lists the queries for one name, in any case, with or without the final dot.
func (s *Server) QueriesFor(name string) []Query {
	key, err := normalize(name)
	if err != nil {
		return nil
	}
	return s.queries(func(q *Query) bool { return q.Name == withoutDot(string(key)) })
}

func (s *Server) queries(wanted func(*Query) bool) []Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Query
	for _, q := range s.log {
		if wanted(q) {
			list = append(list, *q)
		}
	}
	return list
}

func (s *Server) file(q Query) *Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, &q)
	return &q
}

func (s *Server) note(q *Query, nth int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.Nth, q.Answer = nth, answer
}
