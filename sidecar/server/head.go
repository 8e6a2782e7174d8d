package server

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// fault is why a request is refused: the status and the text of its answer.
type fault struct {
	status int
	text   string
}

func badRequest(text string) *fault { return &fault{http.StatusBadRequest, text} }

// framing says where a request's body ends on the wire.
type framing int

const (
	sized   framing = iota // after head.length bytes
	chunked                // after the last chunk
	opaque                 // unknown: an upgrade or a CONNECT, after which the bytes are no longer HTTP's
)

// head is what the strict reading of a request's head found; net/http's own reading gives the rest.
type head struct {
	framing framing
	length  int64
	fault   *fault // why the request is refused; then nothing else is set
}

// maxFields bounds a head's header lines; browsers and MCP clients send about ten.
const maxFields = 100

// headEnd looks for the empty line that ends a head, in b from the index from on, where everything before from was
// seen already. It returns the head's length, or 0 where the end isn't there yet, or a fault as soon as the bytes can
// no longer become a head: each line ends in CR LF and holds no other control characters but tabs.
func headEnd(b []byte, from int) (int, *fault) {
	for i := from; i < len(b); i++ {
		afterCR := i > 0 && b[i-1] == '\r'
		switch c := b[i]; {
		case c == '\n' && !afterCR:
			return 0, badRequest("Malformed request: a line ends without CR")
		case c != '\n' && afterCR:
			return 0, badRequest("Malformed request: CR inside a line")
		case c == '\n' && i >= 3 && b[i-2] == '\n':
			return i + 1, nil
		case c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
			return 0, badRequest("Malformed request: a control character")
		}
	}
	return 0, nil
}

// parseHead reads a head that [headEnd] found complete, by RFC 9112 without its leniencies: whatever two servers in a
// row could read differently (§11.2) is refused. All that it accepts, net/http reads in the same way.
func parseHead(text string) head {
	lines := strings.Split(strings.TrimSuffix(text, "\r\n\r\n"), "\r\n")
	if len(lines)-1 > maxFields {
		return head{fault: &fault{http.StatusRequestHeaderFieldsTooLarge, "Too many header fields"}}
	}
	method, minor, f := parseRequestLine(lines[0])
	if f != nil {
		return head{fault: f}
	}
	fields, f := parseFields(lines[1:])
	if f != nil {
		return head{fault: f}
	}
	switch hosts := fields["host"]; {
	case len(hosts) > 1:
		return head{fault: badRequest("Malformed request: more than one Host header")} // RFC 9112 §3.2
	case len(hosts) == 0 && minor == 1:
		return head{fault: badRequest("Malformed request: no Host header")}
	case len(hosts) == 1 && !httpguts.ValidHostHeader(hosts[0]):
		return head{fault: badRequest("Malformed request: the Host header is malformed")}
	}
	if expect := fields["expect"]; len(expect) > 1 || len(expect) == 1 && !strings.EqualFold(expect[0], "100-continue") {
		return head{fault: &fault{http.StatusExpectationFailed, "Expectation failed"}}
	}
	h := head{}
	if h.framing, h.length, f = parseFraming(fields, minor); f != nil {
		return head{fault: f}
	}
	upgrade := len(fields["upgrade"]) > 0 && httpguts.HeaderValuesContainsToken(fields["connection"], "upgrade")
	if upgrade || method == http.MethodConnect {
		h.framing = opaque
	}
	return h
}

// parseRequestLine returns the method and HTTP's minor version.
func parseRequestLine(line string) (method string, minor int, f *fault) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !httpguts.ValidHeaderFieldName(parts[0]) {
		return "", 0, badRequest("Malformed request: the request line is not HTTP")
	}
	method, target, version := parts[0], parts[1], parts[2]
	switch {
	case version == "HTTP/1.1":
		minor = 1
	case version == "HTTP/1.0":
		minor = 0
	case len(version) == len("HTTP/1.1") && strings.HasPrefix(version, "HTTP/"):
		return "", 0, &fault{http.StatusHTTPVersionNotSupported, "Only HTTP/1.0 and HTTP/1.1 are spoken here"}
	default:
		return "", 0, badRequest("Malformed request: the request line is not HTTP")
	}
	if !validTarget(method, target) {
		return "", 0, badRequest("Malformed request: the target is malformed")
	}
	return method, minor, nil
}

// validTarget checks a request target in each of its four forms (RFC 9112 §3.2).
func validTarget(method, target string) bool {
	if target == "" || strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }) {
		return false
	}
	if method == http.MethodConnect {
		_, err := url.ParseRequestURI("http://" + target)
		return err == nil && !strings.ContainsAny(target, "/?@")
	}
	if target == "*" {
		return method == http.MethodOptions
	}
	u, err := url.ParseRequestURI(target)
	if err != nil || target[0] == '/' {
		return err == nil
	}
	return u.Scheme == "http" && u.Host != "" && u.User == nil
}

// parseFields reads the header lines into their values by lower-case name. Folded lines (RFC 9112 §5.2) and blanks
// before the colon (§5.1) are refused.
func parseFields(lines []string) (map[string][]string, *fault) {
	fields := make(map[string][]string, len(lines))
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, badRequest("Malformed request: a header line is malformed")
		}
		name = strings.ToLower(name)
		fields[name] = append(fields[name], value)
	}
	return fields, nil
}

// parseFraming applies RFC 9112 §6.1 to §6.3, refusing what they let a server repair.
func parseFraming(fields map[string][]string, minor int) (framing, int64, *fault) {
	lengths, codings := fields["content-length"], fields["transfer-encoding"]
	switch {
	case len(codings) > 0 && len(lengths) > 0:
		return 0, 0, badRequest("Malformed request: Content-Length with Transfer-Encoding")
	case len(codings) > 1:
		return 0, 0, badRequest("Malformed request: more than one Transfer-Encoding header")
	case len(codings) == 1 && minor == 0:
		return 0, 0, badRequest("Malformed request: Transfer-Encoding in HTTP/1.0")
	case len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return 0, 0, &fault{http.StatusNotImplemented, "Transfer-Encoding may only be chunked"}
	case len(codings) == 1 && !plainTrailers(fields["trailer"]):
		return 0, 0, badRequest("Malformed request: the Trailer header is malformed")
	case len(codings) == 1:
		return chunked, 0, nil
	case len(lengths) > 1:
		return 0, 0, badRequest("Malformed request: more than one Content-Length header")
	case len(lengths) == 0:
		return sized, 0, nil
	}
	n, err := strconv.ParseUint(lengths[0], 10, 63)
	if err != nil {
		return 0, 0, badRequest("Malformed request: Content-Length is not a number")
	}
	return sized, int64(n), nil
}

// plainTrailers reports that no trailer is announced that would frame the message (RFC 9110 §6.5.1).
func plainTrailers(announced []string) bool {
	for _, name := range []string{"transfer-encoding", "content-length", "trailer"} {
		if httpguts.HeaderValuesContainsToken(announced, name) {
			return false
		}
	}
	return !slices.Contains(announced, "")
}
