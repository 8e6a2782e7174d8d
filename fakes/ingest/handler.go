package ingest

import (
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxWire bounds a body as it comes. Gzip shrinks no legitimate batch to more than its own size.
const maxWire = 64 << 20

// refused is a post that is not stored, with the status for it.
type refused struct {
	status int
	fault  Fault
}

// ServeHTTP takes one post: it reads it, holds it against the contract, records it, and answers or fails as told.
func (g *Ingest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	healed := g.healed // a post that arrived before Heal is let go by it
	g.mu.Unlock()
	post := Post{At: g.o.Now(), Method: r.Method, Target: r.RequestURI, Header: r.Header.Clone()}
	wire, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWire))
	post.WireBytes = len(wire)

	status, faults := g.examine(&post, r, wire, err)
	g.answer(w, r, g.record(post, faults, status), faults, healed)
}

// examine fills in what the body says. It returns the status with which the post is refused, and why; 0 to store it.
func (g *Ingest) examine(p *Post, r *http.Request, wire []byte, broken error) (int, []Fault) {
	if refusal := g.admit(r); refusal != nil {
		return refusal.status, []Fault{refusal.fault}
	}
	if broken != nil {
		return http.StatusBadRequest, []Fault{{RuleGzip, "reading the body: " + broken.Error()}}
	}
	text, refusal := g.inflate(r.Header.Values("Content-Encoding"), wire)
	p.Text = text
	if refusal != nil {
		return refusal.status, []Fault{refusal.fault}
	}
	body, faults := Parse(text)
	p.Body = body
	return g.judge(body, faults)
}

// admit refuses by method, path and token.
func (g *Ingest) admit(r *http.Request) *refused {
	if r.URL.Path != g.o.Path {
		return &refused{http.StatusNotFound, Fault{RulePath, fmt.Sprintf("the path %q: want %q", r.URL.Path, g.o.Path)}}
	}
	if r.Method != http.MethodPost {
		return &refused{http.StatusMethodNotAllowed, Fault{RuleMethod, r.Method + ": want POST"}}
	}
	got := r.Header.Values("Authorization")
	if len(got) != 1 {
		return &refused{http.StatusUnauthorized, Fault{RuleToken, fmt.Sprintf("%d Authorization headers: want one", len(got))}}
	}
	scheme, token, _ := strings.Cut(got[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(token), []byte(g.o.Token)) != 1 {
		return &refused{http.StatusUnauthorized, Fault{RuleToken, "the Authorization header is not the recording's bearer token"}}
	}
	return nil
}

// inflate undoes the gzip, to one byte over the bound at most. What was read is returned with the refusal too, so that
// nothing that a target sends is out of a spec's sight.
func (g *Ingest) inflate(encodings []string, wire []byte) ([]byte, *refused) {
	if len(encodings) != 1 || !strings.EqualFold(encodings[0], "gzip") {
		return wire, &refused{
			http.StatusUnsupportedMediaType,
			Fault{RuleEncoding, fmt.Sprintf("the content-encoding %q: want gzip", encodings)},
		}
	}
	reader, err := gzip.NewReader(bytes.NewReader(wire))
	if err != nil {
		return nil, &refused{http.StatusBadRequest, Fault{RuleGzip, "opening the body: " + err.Error()}}
	}
	text, err := io.ReadAll(io.LimitReader(reader, int64(g.o.MaxBytes)+1))
	if err != nil {
		return text, &refused{http.StatusBadRequest, Fault{RuleGzip, "inflating the body: " + err.Error()}}
	}
	if len(text) > g.o.MaxBytes {
		return text, &refused{
			http.StatusRequestEntityTooLarge,
			Fault{RuleLimit, fmt.Sprintf("over %d bytes inflated", g.o.MaxBytes)},
		}
	}
	return text, nil
}

// judge finds the status for a parsed body; 0 stores it.
func (g *Ingest) judge(body Body, faults []Fault) (int, []Fault) {
	if len(body.Events) > g.o.MaxEvents {
		return http.StatusRequestEntityTooLarge, append(faults,
			Fault{RuleLimit, fmt.Sprintf("%d events: want at most %d", len(body.Events), g.o.MaxEvents)})
	}
	if len(faults) > 0 {
		return http.StatusUnprocessableEntity, faults
	}
	return 0, nil
}

// answer does to a recorded post what its failure says, or answers it.
func (g *Ingest) answer(w http.ResponseWriter, r *http.Request, p Post, faults []Fault, healed <-chan struct{}) {
	f := p.Failure
	if f == nil {
		f = &Failure{}
	}
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-healed:
		case <-r.Context().Done():
			return
		}
	}
	if f.Hang {
		select {
		case <-healed:
		case <-r.Context().Done():
		}
		reset(w)
		return
	}
	if f.Reset {
		reset(w)
		return
	}
	for name, values := range f.Header {
		w.Header()[name] = values
	}
	if p.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	// The sender may be gone: then nobody misses the rest of the answer.
	_ = json.NewEncoder(w).Encode(reply(p, faults))
}

func reply(p Post, faults []Fault) any {
	if p.Status == http.StatusCreated {
		return map[string]any{"stored": len(p.Events), "clock_offset_ms": float64(p.At.UnixMilli()) - p.SentAt}
	}
	text := http.StatusText(p.Status)
	if len(faults) > 0 {
		text = faults[0].Detail
	}
	return map[string]string{"error": text}
}

// reset breaks the connection so that the sender sees a reset and no answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // what net/http itself offers for it
	}
	type inner interface{ NetConn() net.Conn } // a TLS connection
	raw := conn
	if tls, ok := conn.(inner); ok {
		raw = tls.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		err = tcp.SetLinger(0)
	}
	// Nothing is left to do about a connection that can't even be closed.
	_ = errors.Join(err, raw.Close())
}
