package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Bounds of a head in bytes: more than browsers send, and as much as Chromium takes.
const (
	maxRequestHead  = 64 << 10
	maxResponseHead = 256 << 10
)

var errHeadTooLarge = errors.New("the head is too large")

// A field is one header line. Lists keep their order and the sender's letter case.
type field struct{ name, value string }

type fields []field

// values returns the values of all lines called name.
func (f fields) values(name string) []string {
	var values []string
	for _, line := range f {
		if strings.EqualFold(line.name, name) {
			values = append(values, line.value)
		}
	}
	return values
}

// names tells whether a comma-separated list header holds token.
func (f fields) names(header, token string) bool {
	return httpguts.HeaderValuesContainsToken(f.values(header), token)
}

// endToEnd returns what may pass a proxy (RFC 9110 §7.6.1), less Host and the lines that frame the body, which the
// proxy writes itself.
func (f fields) endToEnd() fields {
	kept := make(fields, 0, len(f))
	for _, line := range f {
		switch name := strings.ToLower(line.name); {
		case strings.HasPrefix(name, "proxy-"):
		case f.names("Connection", name), f.names("Proxy-Connection", name):
		case name == "connection", name == "keep-alive", name == "te", name == "trailer", name == "upgrade",
			name == "http2-settings", name == "transfer-encoding", name == "content-length", name == "host":
		default:
			kept = append(kept, line)
		}
	}
	return kept
}

func (f fields) writeTo(out *bufio.Writer) {
	for _, line := range f {
		_, _ = out.WriteString(line.name) // out keeps its first error for Flush
		_, _ = out.WriteString(": ")
		_, _ = out.WriteString(line.value)
		_, _ = out.WriteString("\r\n")
	}
}

// readHead reads one head through its empty line and returns it without that line, at most limit bytes. It returns
// io.EOF when in ends before the first byte.
func readHead(in *bufio.Reader, limit int) ([]byte, error) {
	var head []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(head)+len(part) > limit {
			return nil, errHeadTooLarge
		}
		if err == nil && len(bytes.TrimRight(part, "\r\n")) == 0 && (len(head) == 0 || head[len(head)-1] == '\n') {
			if len(head) == 0 { // an empty line before a request line is ignored (RFC 9112 §2.2)
				limit -= len(part)
				continue
			}
			return head, nil
		}
		head = append(head, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(head) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
}

// splitHead returns the first line of a head and its fields. A line that continues another is an error (RFC 9112 §5.2).
func splitHead(head []byte) (first string, f fields, err error) {
	lines := strings.Split(strings.TrimSuffix(string(head), "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if i == 0 {
			first = line
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found || !httpguts.ValidHeaderFieldName(name) {
			return "", nil, fmt.Errorf("header line %d has no valid name", i)
		}
		value = strings.Trim(value, " \t")
		if !httpguts.ValidHeaderFieldValue(value) {
			return "", nil, fmt.Errorf("header line %d has a control character in its value", i)
		}
		f = append(f, field{name, value})
	}
	return first, f, nil
}

// A framing says where a body ends (RFC 9112 §6).
type framing struct {
	kind   framingKind
	length int64 // for sized
}

type framingKind int

const (
	empty framingKind = iota
	sized
	chunked
	untilClose
)

// writeTo writes the line that announces the body.
func (f framing) writeTo(out *bufio.Writer) {
	switch f.kind {
	case sized:
		_, _ = out.WriteString("Content-Length: " + strconv.FormatInt(f.length, 10) + "\r\n")
	case chunked:
		_, _ = out.WriteString("Transfer-Encoding: chunked\r\n")
	case empty, untilClose:
	}
}

// contentLength reads all Content-Length lines; ok is false when there is none. Lines that differ are an error, and so
// is anything but digits.
func (f fields) contentLength() (length int64, ok bool, err error) {
	for i, value := range f.values("Content-Length") {
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return 0, false, errors.New("the Content-Length is not a decimal number below 2^63")
		}
		if i > 0 && int64(n) != length {
			return 0, false, errors.New("two Content-Length lines differ")
		}
		length, ok = int64(n), true
	}
	return length, ok, nil
}

// isChunked reads all Transfer-Encoding lines: the one coding that passes is chunked.
func (f fields) isChunked() (bool, error) {
	codings := f.values("Transfer-Encoding")
	switch {
	case len(codings) == 0:
		return false, nil
	case len(codings) == 1 && strings.EqualFold(codings[0], "chunked"):
		return true, nil
	}
	return false, errors.New("the Transfer-Encoding is not chunked alone")
}

// minor reads "HTTP/1.0" or "HTTP/1.1".
func minor(version string) (int, error) {
	switch version {
	case "HTTP/1.1":
		return 1, nil
	case "HTTP/1.0":
		return 0, nil
	}
	return 0, errors.New("the version is not HTTP/1.0 or HTTP/1.1")
}
