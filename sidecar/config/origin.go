package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// appURL returns the app's origin.
func (r *reader) appURL(in object) *url.URL {
	u := r.httpURL(in, "app_url")
	if u == nil {
		return nil
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}
}

// httpURL returns the absolute http or https URL under key, its scheme and authority normalised.
func (r *reader) httpURL(in object, key string) *url.URL {
	path := join(in.path, key)
	s, _ := text(in, key)
	u, ok := parseHTTP(s)
	switch {
	case !ok:
		r.failf("%s must be an absolute http(s) URL", path)
		return nil
	case u.User != nil:
		r.failf("%s must not carry credentials", path)
		return nil
	}
	return u
}

func (r *reader) origins(in object) []string {
	list, ok := texts(in, "origins")
	var out []string
	for _, s := range list {
		u, valid := parseHTTP(s)
		if !valid || u.User != nil || (u.Path != "" && u.Path != "/") || strings.ContainsAny(s, "?#") {
			ok = false
			break
		}
		if origin := u.Scheme + "://" + u.Host; !slices.Contains(out, origin) {
			out = append(out, origin)
		}
	}
	if !ok || len(out) == 0 {
		r.failf("%s must be a list of http(s) origins, such as http://localhost:3000", join(in.path, "origins"))
	}
	return out
}

// parseHTTP reads an absolute http(s) URL and writes its scheme and authority in the one way that a browser does.
// Spellings that a browser would read as another host, such as 127.1, are refused. net/url's errors quote the URL, which
// may hold credentials, so they go no further.
func parseHTTP(s string) (*url.URL, bool) {
	if strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }) {
		return nil, false
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Opaque != "" {
		return nil, false
	}
	host, ok := normalHost(u.Hostname(), strings.HasPrefix(u.Host, "["))
	if !ok {
		return nil, false
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, false
		}
		if defaultPort := map[string]uint64{"http": 80, "https": 443}[u.Scheme]; n != defaultPort {
			host += ":" + strconv.FormatUint(n, 10)
		}
	}
	u.Host = host
	return u, true
}

// normalHost writes a host as the URL standard serialises it.
func normalHost(host string, bracketed bool) (string, bool) {
	if bracketed {
		ip, err := netip.ParseAddr(host)
		if err != nil || !ip.Is6() || ip.Zone() != "" {
			return "", false
		}
		if ip.Is4In6() {
			b := ip.As16()
			return fmt.Sprintf("[::ffff:%x:%x]", uint(b[12])<<8|uint(b[13]), uint(b[14])<<8|uint(b[15])), true
		}
		return "[" + ip.String() + "]", true
	}
	return normalName(host)
}

// normalName writes an IPv4 address or a host name in lower case, international names in their ASCII form.
func normalName(name string) (string, bool) {
	if ip, err := netip.ParseAddr(name); err == nil {
		return name, ip.Is4()
	}
	name = strings.ToLower(name)
	if strings.ContainsFunc(name, func(c rune) bool { return c > 0x7f }) {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil {
			return "", false
		}
		name = ascii
	}
	if len(name) > 253 {
		return "", false
	}
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
		}) {
			return "", false
		}
	}
	return name, !numeric(labels[len(labels)-1])
}

// numeric reports a last label for which a browser reads the whole host as an IPv4 address.
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	digits, hex := strings.CutPrefix(label, "0x")
	return hex && strings.Trim(digits, "0123456789abcdef") == ""
}

// host is where to listen: an address or a name, refused when it can be neither.
func (r *reader) host(in object) string {
	if in.fields["host"] == nil {
		return "127.0.0.1"
	}
	s, _ := text(in, "host")
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return ip.String()
	}
	name, ok := normalName(s)
	if !ok {
		r.failf("host must be an IP address, without brackets and zone, or a host name")
	}
	return name
}
