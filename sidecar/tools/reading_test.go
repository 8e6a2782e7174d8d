package tools_test

import "strings"

// readByBrowser is the origin that a browser reads a URL as, by the URL standard: written down a second time, as an oracle
// for what may be opened. A host with escapes or letters beyond ASCII has none, since it may become any other.
func readByBrowser(raw, base string) string {
	raw = strings.TrimFunc(strings.TrimSpace(raw), func(r rune) bool { return r <= ' ' })
	raw = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(raw)
	slash := func(i int) bool { return len(raw) > i && (raw[i] == '/' || raw[i] == '\\') }
	scheme, rest, ok := strings.Cut(raw, ":")
	switch {
	case slash(0) && slash(1):
		scheme, _, _ = strings.Cut(base, ":")
		rest = raw
	case slash(0):
		return base
	case !ok:
		return "none"
	}
	scheme = strings.ToLower(scheme)
	defaultPort, web := map[string]string{"http": ":80", "https": ":443"}[scheme]
	if !web {
		return "none"
	}
	authority := strings.TrimLeft(rest, `/\`)
	if end := strings.IndexAny(authority, `/\?#`); end >= 0 {
		authority = authority[:end]
	}
	authority = authority[strings.LastIndex(authority, "@")+1:]
	if strings.ContainsFunc(authority, func(r rune) bool { return r == '%' || r > '~' || r <= ' ' }) {
		return "none"
	}
	authority = strings.TrimSuffix(strings.ToLower(authority), ":")
	return scheme + "://" + strings.TrimSuffix(authority, defaultPort)
}
