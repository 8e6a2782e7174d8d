package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Bounds of a name (RFC 1035 §2.3.4).
const (
	maxName  = 253
	maxLabel = 63
)

// A host is a name or an address in the one spelling that is judged and dialled.
type host struct {
	asked string     // as asked for, in lower case: the app's own host is compared with this
	name  string     // without its trailing dot; empty for an address
	addr  netip.Addr // invalid for a name
}

// An authority is a host and a port; port 0 says that none was named.
type authority struct {
	host host
	port uint16
}

// String returns "host:port", an IPv6 address in brackets.
func (a authority) String() string {
	return a.hostname() + ":" + strconv.Itoa(int(a.port))
}

// hostname returns the host alone, an IPv6 address in brackets.
func (a authority) hostname() string {
	switch {
	case !a.host.addr.IsValid():
		return a.host.name
	case a.host.addr.Is6():
		return "[" + a.host.addr.String() + "]"
	default:
		return a.host.addr.String()
	}
}

// hostField returns the value of the Host header that http sends for a (RFC 9110 §7.2).
func (a authority) hostField() string {
	if a.port == 80 {
		return a.hostname()
	}
	return a.String()
}

// parseAuthority reads "host" or "host:port", the only parser of hosts here: CONNECT targets, the authorities of plain
// requests and Host headers all pass through it. It takes no userinfo, zone id, percent sign or byte outside ASCII.
func parseAuthority(text string) (authority, error) {
	hostText, portText, bracketed, err := splitAuthority(text)
	if err != nil {
		return authority{}, err
	}
	var a authority
	if portText != nil {
		if a.port, err = parsePort(*portText); err != nil {
			return authority{}, err
		}
	}
	if bracketed {
		a.host, err = parseIPv6(hostText)
	} else {
		a.host, err = parseHost(hostText)
	}
	return a, err
}

func splitAuthority(text string) (host string, port *string, bracketed bool, err error) {
	rest, bracketed := strings.CutPrefix(text, "[")
	if !bracketed {
		host, p, found := strings.Cut(text, ":")
		if found {
			port = &p
		}
		return host, port, false, nil
	}
	host, rest, found := strings.Cut(rest, "]")
	if !found {
		return "", nil, true, errors.New("the host has an opening bracket and no closing one")
	}
	if rest == "" {
		return host, nil, true, nil
	}
	p, found := strings.CutPrefix(rest, ":")
	if !found {
		return "", nil, true, errors.New("the host's closing bracket is followed by something other than a port")
	}
	return host, &p, true, nil
}

func parsePort(text string) (uint16, error) {
	for _, b := range []byte(text) {
		if b < '0' || b > '9' { // ParseUint alone would do, but for its wording
			return 0, errors.New("the port is not a decimal number")
		}
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("the port is outside 1 to 65535")
	}
	return uint16(port), nil
}

// parseIPv6 reads what stood between brackets: nothing but an IPv6 address without a zone may (RFC 3986 §3.2.2).
func parseIPv6(text string) (host, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return host{}, errors.New("the host in brackets is not an IPv6 address without a zone")
	}
	return host{asked: addr.String(), addr: addr}, nil
}

// parseHost reads a name or an IPv4 address in any spelling that a browser takes for one.
func parseHost(text string) (host, error) {
	for _, b := range []byte(text) {
		if !hostByte(b) {
			return host{}, fmt.Errorf("the host holds the byte 0x%02x, which no host name has", b)
		}
	}
	asked := strings.ToLower(text)
	name := strings.TrimSuffix(asked, ".")
	if name == "" || len(name) > maxName {
		return host{}, fmt.Errorf("the host has %d bytes, outside 1 to %d", len(name), maxName)
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabel {
			return host{}, fmt.Errorf("a label of the host has %d bytes, outside 1 to %d", len(label), maxLabel)
		}
	}
	if !isNumber(labels[len(labels)-1]) {
		return host{asked: asked, name: name}, nil
	}
	addr, err := parseIPv4(labels)
	return host{asked: asked, addr: addr}, err
}

// hostByte tells whether b may stand in a name: letters, digits and hyphens (RFC 952), and the underscore that is in use.
func hostByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == '.'
}

// isNumber tells whether a last label makes the whole host an IPv4 address (WHATWG URL, "ends in a number"). Such a host
// is an address or an error and never a question to DNS.
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for _, b := range []byte(digits) {
		if (b < '0' || b > '9') && (!hex || b < 'a' || b > 'f') {
			return false
		}
	}
	return true
}

// parseIPv4 reads one to four decimal, octal or hexadecimal numbers, of which the last fills the bytes that are left
// (WHATWG URL, "IPv4 parser"): 127.0.0.1, 127.1, 0177.0.0.1, 0x7f000001 and 2130706433 are one address.
func parseIPv4(parts []string) (netip.Addr, error) {
	fault := errors.New("the host ends in a number and is not an IPv4 address")
	if len(parts) > 4 {
		return netip.Addr{}, fault
	}
	var value uint64
	for i, part := range parts {
		digits, base := part, 10
		if hex, ok := strings.CutPrefix(part, "0x"); ok {
			digits, base = "0"+hex, 16
		} else if len(part) > 1 && part[0] == '0' {
			digits, base = part[1:], 8
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil {
			return netip.Addr{}, fault
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if n >= 1<<bits {
			return netip.Addr{}, fault
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), nil
}

// appAuthority returns the authority that Chromium asks for when it means app.
func appAuthority(app *url.URL) (authority, error) {
	ports := map[string]uint16{"http": 80, "https": 443}
	if ports[app.Scheme] == 0 {
		return authority{}, fmt.Errorf("the app's URL has the scheme %q, not http or https", app.Scheme)
	}
	text := app.Host
	if ascii, err := idna.Lookup.ToASCII(app.Hostname()); err == nil && ascii != app.Hostname() {
		text = strings.Replace(text, app.Hostname(), ascii, 1)
	}
	a, err := parseAuthority(text)
	if err != nil {
		return authority{}, fmt.Errorf("reading the app's URL: %w", err)
	}
	if a.host.addr.IsValid() {
		a.host.asked = a.host.addr.String()
	}
	if a.port == 0 {
		a.port = ports[app.Scheme]
	}
	return a, nil
}
