// Package admit decides who may speak to the sidecar: which Host values name it, that no page speaks, and that the
// speaker knows the token.
//
// The checks run in one order, Host, Origin, token, and before the path is looked at, so that nobody without the token
// can tell one path from another.
package admit

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// Refusal is the answer to a request that is not admitted: an HTTP status and a text that gives nothing away.
type Refusal struct {
	Status int
	Text   string
}

// Gate holds what a request is judged by. It never changes, so any number of requests may use it at once.
type Gate struct {
	hosts map[string]bool
	token [sha256.Size]byte
}

// New returns a gate that admits the holder of token under the Host values in hosts (see [Hosts]). An empty token
// admits nobody.
func New(token string, hosts []string) *Gate {
	g := &Gate{hosts: make(map[string]bool, len(hosts)), token: sha256.Sum256([]byte(token))}
	for _, h := range hosts {
		g.hosts[lower(h)] = true
	}
	return g
}

// Admit judges a request by the authority that it names (of its target where that is absolute, else its Host header's
// value; RFC 9112 §3.2.2) and by its headers. Where it is not admitted, the refusal says how to answer.
func (g *Gate) Admit(authority string, header http.Header) (refusal Refusal, admitted bool) {
	if !g.Names(authority) {
		return Refusal{http.StatusForbidden, "Host not allowed"}, false
	}
	// Presence counts, not the value: a browser always sends the header with a page's request, whatever it says.
	if _, page := header["Origin"]; page {
		return Refusal{http.StatusForbidden, "Origin not allowed"}, false
	}
	if !g.knows(header["Authorization"]) {
		return Refusal{http.StatusUnauthorized, "Missing or invalid bearer token"}, false
	}
	return Refusal{}, true
}

// Names reports whether authority is a name of this sidecar: compared whole, port included, in any case.
func (g *Gate) Names(authority string) bool { return authority != "" && g.hosts[lower(authority)] }

// knows compares digests, so neither the time taken nor a length tells anything about the token.
func (g *Gate) knows(authorization []string) bool {
	if len(authorization) != 1 {
		return false
	}
	token, ok := bearer(authorization[0])
	if !ok {
		return false
	}
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], g.token[:]) == 1
}

// bearer takes the one word after the scheme out of an Authorization value (RFC 6750 §2.1). The scheme's case is free
// (RFC 9110 §11.1); one or more spaces may stand before the word and blanks after it.
func bearer(value string) (token string, ok bool) {
	scheme, rest, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token = strings.TrimRight(strings.TrimLeft(rest, " "), " \t")
	return token, token != "" && !strings.ContainsAny(token, " \t\r\n\v\f")
}

// Hosts lists the Host values that name a server which was asked to listen on host and does so at addr: the listening
// address, the loopback names when that is loopback or every interface, and the entries of allowed as they are.
//
// A client leaves the port out where it is HTTP's own, so for port 80 the bare names count too.
func Hosts(host string, addr netip.AddrPort, allowed []string) []string {
	ip := addr.Addr().Unmap()
	var names []string
	if !ip.IsUnspecified() {
		names = append(names, host, ip.String())
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		names = append(names, "127.0.0.1", "localhost", "::1")
	}
	hosts := append([]string(nil), allowed...)
	for _, n := range names {
		withPort := net.JoinHostPort(n, strconv.Itoa(int(addr.Port())))
		hosts = append(hosts, withPort)
		if addr.Port() == 80 {
			hosts = append(hosts, strings.TrimSuffix(withPort, ":80"))
		}
	}
	return hosts
}

// lower folds ASCII letters only: a Unicode fold would make other names equal to ours.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}
