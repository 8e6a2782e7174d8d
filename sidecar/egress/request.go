package egress

import (
	"bufio"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A request is the head of a proxy request, checked.
type request struct {
	method    string
	authority authority // from the request line alone
	path      string    // origin-form (RFC 9112 §3.2.1); empty for CONNECT
	minor     int       // of HTTP/1.x
	fields    fields
	body      framing
}

// A badRequest is a request that nobody is asked about: its syntax is wrong.
type badRequest struct {
	status int
	reason string
}

func (b *badRequest) Error() string { return b.reason }

func bad(reason string) error { return &badRequest{status: 400, reason: reason} }

// parseRequest reads a request's head. The error is a *badRequest.
func parseRequest(head []byte) (*request, error) {
	line, f, err := splitHead(head)
	if err != nil {
		return nil, bad(err.Error())
	}
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !httpguts.ValidHeaderFieldName(parts[0]) {
		return nil, bad("the request line is not a method, a target and a version")
	}
	r := &request{method: parts[0], fields: f}
	if r.minor, err = minor(parts[2]); err != nil {
		return nil, &badRequest{status: 505, reason: err.Error()}
	}
	if r.method == "CONNECT" {
		if err := r.parseConnect(parts[1]); err != nil {
			return nil, err
		}
		return r, nil
	}
	if err := r.parseTarget(parts[1]); err != nil {
		return nil, err
	}
	if err := r.checkHost(); err != nil {
		return nil, err
	}
	if err := r.parseFraming(); err != nil {
		return nil, err
	}
	return r, nil
}

// parseConnect reads authority-form (RFC 9112 §3.2.3), whose port is never left out.
func (r *request) parseConnect(target string) error {
	var err error
	r.authority, err = parseAuthority(target)
	if err != nil {
		return &badRequest{status: 403, reason: err.Error()}
	}
	if r.authority.port == 0 {
		return &badRequest{status: 403, reason: "CONNECT names no port"}
	}
	return r.checkHost()
}

// parseTarget reads absolute-form (RFC 9112 §3.2.2), http only.
func (r *request) parseTarget(target string) error {
	scheme, rest, found := strings.Cut(target, "://")
	switch {
	case !found || !validScheme(scheme):
		return bad("not a proxy request")
	case !strings.EqualFold(scheme, "http"):
		return bad(strings.ToLower(scheme) + ": requests are not proxied")
	}
	for _, b := range []byte(rest) {
		if b <= ' ' || b >= 0x7f || b == '#' {
			return bad(fmt.Sprintf("the request target holds the byte 0x%02x", b))
		}
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	var err error
	if r.authority, err = parseAuthority(rest[:end]); err != nil {
		return bad(err.Error())
	}
	if r.authority.port == 0 {
		r.authority.port = 80
	}
	r.path = rest[end:]
	if !strings.HasPrefix(r.path, "/") {
		r.path = "/" + r.path
	}
	return nil
}

// maxScheme bounds a scheme that is repeated to the client and to the log.
const maxScheme = 32

// validScheme tells whether text is a URL's scheme (RFC 3986 §3.1) of a sensible length.
func validScheme(text string) bool {
	for i, b := range []byte(strings.ToLower(text)) {
		letter := b >= 'a' && b <= 'z'
		if !letter && (i == 0 || (b < '0' || b > '9') && b != '+' && b != '-' && b != '.') {
			return false
		}
	}
	return text != "" && len(text) <= maxScheme
}

// checkHost refuses a Host header that is missing, doubled or malformed (RFC 9112 §3.2). Its value is never used: the
// authority that was judged replaces it.
func (r *request) checkHost() error {
	hosts := r.fields.values("Host")
	if len(hosts) == 0 && (r.minor == 0 || r.method == "CONNECT") {
		return nil
	}
	if len(hosts) != 1 {
		return bad(fmt.Sprintf("the request has %d Host headers, not one", len(hosts)))
	}
	if _, err := parseAuthority(hosts[0]); err != nil {
		return bad("the Host header is malformed: " + err.Error())
	}
	return nil
}

// parseFraming accepts one way only to say where the body ends, so that no two readers can differ (RFC 9112 §6.3).
func (r *request) parseFraming() error {
	isChunked, err := r.fields.isChunked()
	if err != nil {
		return bad(err.Error())
	}
	length, hasLength, err := r.fields.contentLength()
	switch {
	case err != nil:
		return bad(err.Error())
	case isChunked && (hasLength || r.minor == 0):
		return bad("a chunked body needs HTTP/1.1 and has no Content-Length")
	case len(r.fields.values("Content-Length")) > 1:
		return bad("the request has two Content-Length headers")
	case isChunked:
		r.body = framing{kind: chunked}
	case hasLength:
		r.body = framing{kind: sized, length: length}
	}
	return nil
}

// keepAlive tells whether the client's connection may serve another request.
func (r *request) keepAlive() bool {
	return r.minor == 1 && !r.fields.names("Connection", "close") && !r.fields.names("Proxy-Connection", "close")
}

// writeTo writes the head that the origin gets.
func (r *request) writeTo(out *bufio.Writer) error {
	_, _ = out.WriteString(r.method + " " + r.path + " HTTP/1.1\r\nHost: " + r.authority.hostField() + "\r\n")
	r.fields.endToEnd().writeTo(out)
	r.body.writeTo(out)
	_, _ = out.WriteString("\r\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("sending the request: %w", err)
	}
	return nil
}
