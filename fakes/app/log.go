package app

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Request is one request that arrived, written down before it is answered.
type Request struct {
	Time             time.Time
	Listener         netip.AddrPort
	Remote           netip.AddrPort
	Proto            string // such as "HTTP/1.1"
	Method           string
	Host             string // the Host header or :authority, as received
	Target           string // the request target, as received
	Path             string // the target's path, decoded
	Header           http.Header
	TransferEncoding []string // which net/http takes out of the header
	SNI              string   // under TLS
}

// Connection is one TCP connection that was accepted, with or without a request.
type Connection struct {
	Time     time.Time
	Listener netip.AddrPort
	Remote   netip.AddrPort
}

// Requests lists what arrived since the start or the last Reset, in the order of arrival.
func (s *Sites) Requests() []Request {
	return s.list(func(Request) bool { return true })
}

// RequestsTo lists the requests for a path at a host. host is as for Handle: a name or address with or without port, or "" for
// any.
func (s *Sites) RequestsTo(host, path string) []Request {
	return s.list(func(r Request) bool {
		return r.Path == path && (host == "" || slices.Contains(spellings(r.Host), strings.ToLower(host)))
	})
}

// Connections lists the accepted connections since the start or the last Reset.
func (s *Sites) Connections() []Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.connections)
}

// Reset forgets the log and the routes of Handle.
func (s *Sites) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.connections = nil, nil
	clear(s.routes)
}

func (s *Sites) list(wanted func(Request) bool) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Request
	for _, r := range s.requests {
		if wanted(r) {
			r.Header = r.Header.Clone()
			list = append(list, r)
		}
	}
	return list
}

func (s *Sites) received(listener netip.AddrPort, r *http.Request) {
	remote, _ := netip.ParseAddrPort(r.RemoteAddr) // net/http writes nothing else there
	request := Request{
		Time:             time.Now(),
		Listener:         listener,
		Remote:           netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port()),
		Proto:            r.Proto,
		Method:           r.Method,
		Host:             r.Host,
		Target:           r.RequestURI,
		Path:             r.URL.Path,
		Header:           r.Header.Clone(),
		TransferEncoding: slices.Clone(r.TransferEncoding),
	}
	if r.TLS != nil {
		request.SNI = r.TLS.ServerName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request)
}

func (s *Sites) connected(c Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections = append(s.connections, c)
}
