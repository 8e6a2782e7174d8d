package egress

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A response is the head of an origin's response, checked.
type response struct {
	status int
	reason string
	minor  int
	fields fields
	body   framing
}

// parseResponse reads the head of the response to a request with the given method.
func parseResponse(head []byte, method string) (*response, error) {
	line, f, err := splitHead(head)
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	version, rest, _ := strings.Cut(line, " ")
	code, reason, _ := strings.Cut(rest, " ")
	r := &response{reason: reason, fields: f}
	if r.minor, err = minor(version); err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	status, err := strconv.ParseUint(code, 10, 16)
	if err != nil || len(code) != 3 || status < 100 || !httpguts.ValidHeaderFieldValue(reason) {
		return nil, errors.New("reading the response: its status line is malformed")
	}
	r.status = int(status)
	if err := r.parseFraming(method); err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	return r, nil
}

// parseFraming follows RFC 9112 §6.3.
func (r *response) parseFraming(method string) error {
	isChunked, err := r.fields.isChunked()
	if err != nil {
		return err
	}
	length, hasLength, err := r.fields.contentLength()
	switch {
	case err != nil:
		return err
	case r.bodiless(method):
	case isChunked:
		r.body = framing{kind: chunked}
	case hasLength:
		r.body = framing{kind: sized, length: length}
	default:
		r.body = framing{kind: untilClose}
	}
	return nil
}

func (r *response) bodiless(method string) bool {
	return method == "HEAD" || r.interim() || r.status == 204 || r.status == 304
}

// interim tells whether another response follows.
func (r *response) interim() bool { return r.status < 200 }

// keepAlive tells whether the origin's connection may serve another request.
func (r *response) keepAlive() bool {
	return r.minor == 1 && !r.fields.names("Connection", "close") && r.body.kind != untilClose
}

// framedFor returns how the body goes on to a client of HTTP/1.minor: one of unknown length in chunks, so that a body
// that breaks off is seen to.
func (r *response) framedFor(minor int) framing {
	if r.body.kind == chunked || r.body.kind == untilClose {
		if minor == 0 {
			return framing{kind: untilClose}
		}
		return framing{kind: chunked}
	}
	return r.body
}

// writeTo writes the head that the client gets. It stays in out, so that a short body goes in the same segment.
func (r *response) writeTo(out *bufio.Writer, body framing, last bool) {
	_, _ = out.WriteString("HTTP/1.1 " + strconv.Itoa(r.status) + " " + r.reason + "\r\n")
	r.fields.endToEnd().writeTo(out)
	if r.status != 204 && !r.interim() && body.kind == empty { // the length that a GET would have had (RFC 9110 §8.6)
		for _, length := range r.fields.values("Content-Length") {
			fields{{"Content-Length", length}}.writeTo(out)
			break
		}
	}
	body.writeTo(out)
	if last && !r.interim() {
		_, _ = out.WriteString("Connection: close\r\n")
	}
	_, _ = out.WriteString("\r\n")
}
