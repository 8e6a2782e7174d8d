package report

import (
	"bytes"
	"fmt"
)

// bearerLabel stands for a bearer token that the redactor was not told of.
const bearerLabel = "bearer"

const (
	// minBearer is the shortest run after a bare "Bearer" that is taken for a token and not for prose.
	minBearer = 16
	// maxGap bounds what may stand between "Authorization" and "Bearer", and between "Bearer" and the token: colons,
	// quotes, brackets and backslashes of nested quoting.
	maxGap = 16
	// bearerAhead is how far a look ahead for a token may go before its first minBearer bytes are seen.
	bearerAhead = len("authorization") + maxGap + len("bearer") + maxGap + minBearer
)

// scan is what a redactor remembers between two pieces of one stream.
type scan struct {
	swallowing bool // inside a bearer token that is already replaced
}

// sweep appends the clean form of text to dst and says how much of text it used: all of it when this is the last piece, else
// all but what may begin a secret. The caller holds the lock.
func (r *Redactor) sweep(s *scan, dst, text []byte, last bool) (clean []byte, used int) {
	i := 0
	for i < len(text) {
		if s.swallowing {
			if isToken(text[i]) {
				i++
				continue
			}
			s.swallowing = false
		}
		if !last && len(text)-i < r.longest+bearerAhead {
			return dst, i
		}
		if f, ok := r.at(text[i:]); ok {
			dst = fmt.Appendf(dst, "[redacted:%s]", f.label)
			i += len(f.text)
			continue
		}
		if n := r.bearer(text[i:]); n > 0 {
			dst = append(dst, text[i:i+n]...)
			dst = fmt.Appendf(dst, "[redacted:%s]", bearerLabel)
			i += n
			s.swallowing = true
			continue
		}
		dst = append(dst, text[i])
		i++
	}
	return dst, i
}

// at is the longest known form with which text begins.
func (r *Redactor) at(text []byte) (form, bool) {
	for _, f := range r.first[text[0]] {
		if bytes.HasPrefix(text, f.text) {
			return f, true
		}
	}
	return form{}, false
}

// bearer is the length of what precedes an unknown bearer token with whose announcement text begins; 0 without one. A
// known secret is left to its own label.
func (r *Redactor) bearer(text []byte) int {
	start, least := 0, minBearer
	if n := prefixFold(text, "authorization"); n > 0 {
		gap := span(text[n:], isQuoting)
		if gap == 0 || gap > maxGap {
			return 0
		}
		start, least = n+gap, 1
	}
	n := prefixFold(text[start:], "bearer")
	if n == 0 {
		return 0
	}
	start += n
	blanks := span(text[start:], isBlank)
	if blanks == 0 || blanks > maxGap {
		return 0
	}
	start += blanks
	token := text[start:]
	if span(token, isToken) < least {
		return 0
	}
	if _, known := r.at(token); known {
		return 0
	}
	return start
}

// prefixFold is len(lower) when text begins with it in any case, else 0.
func prefixFold(text []byte, lower string) int {
	if len(text) < len(lower) || !bytes.EqualFold(text[:len(lower)], []byte(lower)) {
		return 0
	}
	return len(lower)
}

func span(text []byte, match func(byte) bool) int {
	for i, c := range text {
		if !match(c) {
			return i
		}
	}
	return len(text)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isQuoting is what headers, JSON, Go's %v and nested quoting put between a header's name and its value.
func isQuoting(c byte) bool {
	switch c {
	case ':', '=', '"', '\'', '\\', '[', ',', ' ', '\t':
		return true
	default:
		return false
	}
}

// isToken is RFC 6750's b64token alphabet.
func isToken(c byte) bool {
	switch c {
	case '-', '.', '_', '~', '+', '/', '=':
		return true
	default:
		return isAlphanumeric(c)
	}
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
