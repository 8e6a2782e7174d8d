package canary

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// The networks of a listener and of its hits.
const (
	TCP = "tcp"
	TLS = "tls"
	UDP = "udp"
)

// Hit is a connection or datagram that arrived.
type Hit struct {
	Time        time.Time
	Network     string         // TCP, TLS or UDP
	Local       netip.AddrPort // where it arrived
	Remote      netip.AddrPort // where it came from
	FirstBytes  []byte         // at most 1 KiB, filled in later; under TLS the plain text, or the raw bytes if the handshake failed
	RequestLine string         // when the first bytes read as HTTP
	SNI         string         // the server name of a TLS handshake, failed ones included
	Probe       bool           // by the canary's own Probe
}

// String names the hit for a failure's text.
func (h Hit) String() string {
	text := fmt.Sprintf("%s %s from %s at %s", h.Network, h.Local, h.Remote, h.Time.Format("15:04:05.000"))
	switch {
	case h.RequestLine != "":
		text += fmt.Sprintf(" %q", h.RequestLine)
	case len(h.FirstBytes) > 0:
		text += fmt.Sprintf(" %q", h.FirstBytes[:min(len(h.FirstBytes), 60)])
	}
	if h.SNI != "" {
		text += " SNI " + h.SNI
	}
	return text
}

// Mark is a moment in the list of hits.
type Mark int

// Mark is now: HitsSince gives what arrives after it.
func (c *Canary) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark(len(c.hits))
}

// Hits lists what arrived, in its order, without probes.
func (c *Canary) Hits() []Hit { return c.HitsSince(0) }

// HitsSince lists what arrived after the mark, without probes.
func (c *Canary) HitsSince(mark Mark) []Hit {
	return c.list(mark, func(h *Hit) bool { return !h.Probe })
}

// HitsAt lists what arrived at one address, on any port, without probes. Zones and the IPv4-mapped form don't matter.
func (c *Canary) HitsAt(addr netip.Addr) []Hit {
	return c.list(0, func(h *Hit) bool { return !h.Probe && plain(h.Local.Addr()) == plain(addr) })
}

// All lists everything, probes included.
func (c *Canary) All() []Hit {
	return c.list(0, func(*Hit) bool { return true })
}

func (c *Canary) list(mark Mark, wanted func(*Hit) bool) []Hit {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Hit
	for _, hit := range c.hits[min(max(int(mark), 0), len(c.hits)):] {
		if wanted(hit) {
			h := *hit
			h.FirstBytes = slices.Clone(hit.FirstBytes)
			list = append(list, h)
		}
	}
	return list
}

// file writes a hit down, as a probe's if one is under way from that port.
func (c *Canary) file(l Listener, hit Hit) *Hit {
	hit.Network = l.Network
	key := probe{listener: l, port: hit.Remote.Port()}
	c.mu.Lock()
	defer c.mu.Unlock()
	hit.Time = time.Now()
	if arrived, ok := c.probes[key]; ok {
		hit.Probe = true
		delete(c.probes, key)
		close(arrived)
	}
	c.hits = append(c.hits, &hit)
	return &hit
}

// complete adds what was learnt after the arrival.
func (c *Canary) complete(hit *Hit, first []byte, sni string) {
	line := requestLine(first)
	c.mu.Lock()
	defer c.mu.Unlock()
	hit.FirstBytes, hit.RequestLine, hit.SNI = first, line, sni
}

// requestLine is the first line when the bytes read as an HTTP/1 request, otherwise empty (RFC 9112 §3).
func requestLine(first []byte) string {
	line, _, ok := bytes.Cut(first, []byte("\n"))
	if !ok {
		return ""
	}
	text := string(bytes.TrimSuffix(line, []byte("\r")))
	method, rest, ok := strings.Cut(text, " ")
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || !strings.Contains(rest, " HTTP/") {
		return ""
	}
	return text
}

func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
