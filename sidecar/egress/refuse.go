package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxDrained bounds what a refused client may still send while it reads its answer, in bytes.
const maxDrained = 256 << 10

// refuse answers a request that got no connection or no response; the client's connection ends. It returns false.
func (s *session) refuse(r *request, err error) bool {
	var refused *refusal
	switch {
	case errors.Is(err, context.Canceled): // the proxy closes
		return false
	case errors.As(err, &refused):
		s.proxy.denials.add(refused.authority.hostname(), refused.reason)
		return s.answer(403, r.method, "Blocked by the sandbox browser: "+refused.Error())
	}
	return s.answer(502, r.method, fmt.Sprintf("%s could not be reached (%s)", r.authority.hostname(), code(err)))
}

// refuseSyntax answers a request that is none. Its text may hold anything, so the log doesn't repeat it.
func (s *session) refuseSyntax(err error, method string) bool {
	status := 400
	var b *badRequest
	if errors.As(err, &b) {
		status = b.status
	}
	s.proxy.denials.add("(malformed)", err.Error())
	return s.answer(status, method, err.Error())
}

// answer sends a response of the proxy's own and ends the client's connection. It returns false.
func (s *session) answer(status int, method, text string) bool {
	out := s.client.out
	_, _ = fmt.Fprintf(out, "HTTP/1.1 %d %s\r\nConnection: close\r\n", status, http.StatusText(status))
	if method == "CONNECT" {
		_, _ = out.WriteString("Content-Length: 0\r\n\r\n")
	} else {
		text = strings.ToValidUTF8(text, "") + "\n"
		_, _ = fmt.Fprintf(out, "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(text))
		if method != "HEAD" {
			_, _ = out.WriteString(text)
		}
	}
	if err := out.Flush(); err == nil {
		s.linger()
	}
	return false
}

// linger lets the client read its last answer: a connection closed on unread bytes is reset, and the answer lost.
func (s *session) linger() {
	if err := s.client.closeWrite(); err != nil {
		return
	}
	_ = s.client.conn.SetReadDeadline(time.Now().Add(s.proxy.limits.linger))
	_, _ = io.CopyN(io.Discard, s.client.conn, maxDrained)
}

// methodOf returns the first word of a head that can't be read further.
func methodOf(head []byte) string {
	method, _, _ := bytes.Cut(head, []byte(" "))
	return string(method)
}
