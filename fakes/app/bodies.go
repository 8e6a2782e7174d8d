package app

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

const (
	maxBytes  = 1 << 30
	maxChunks = 10_000
	maxEcho   = 16 << 20
)

func serveSlow(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	delay := q.milliseconds("ms", 1000)
	if q.refused(w) || !wait(r.Context(), delay) {
		return
	}
	_, _ = fmt.Fprintf(w, "after %s\n", delay)
}

func serveStream(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	chunks, interval := q.number("chunks", 5, 1, maxChunks), q.milliseconds("interval", 100)
	if q.refused(w) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	flow(w, r, chunks, interval, func(i int) string { return fmt.Sprintf("chunk %d\n", i) })
}

func serveEvents(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	events, interval := q.number("events", 3, 0, maxChunks), q.milliseconds("interval", 100)
	if q.refused(w) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(i int) string { return fmt.Sprintf("id: %d\ndata: event %d\n\n", i, i) }
	if flow(w, r, events, interval, event) {
		<-r.Context().Done() // an ended stream would be asked for again
	}
}

// flow writes and flushes each part, with pauses between them; false when somebody went away.
func flow(w http.ResponseWriter, r *http.Request, parts int, interval time.Duration, part func(i int) string) bool {
	stream := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	if stream.Flush() != nil {
		return false
	}
	for i := 1; i <= parts; i++ {
		if i > 1 && !wait(r.Context(), interval) {
			return false
		}
		if _, err := io.WriteString(w, part(i)); err != nil || stream.Flush() != nil {
			return false
		}
	}
	return true
}

func serveBytes(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	n, seed := q.number("n", 1024, 0, maxBytes), q.seed("seed")
	if q.refused(w) {
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(n))
	_, _ = io.CopyN(w, randomBytes(seed), int64(n)) // a client that breaks off sees it by the length
}

// BytesSHA256 is the SHA-256, in hex, of what /bytes?n=&seed= answers.
func BytesSHA256(n int64, seed uint64) string {
	sum := sha256.New()
	_, _ = io.CopyN(sum, randomBytes(seed), n) // neither side can fail
	return hex.EncodeToString(sum.Sum(nil))
}

func randomBytes(seed uint64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

// Echo is what /echo answers, as JSON.
type Echo struct {
	Proto  string      `json:"proto"`
	Method string      `json:"method"`
	Host   string      `json:"host"`
	Target string      `json:"target"`
	Header http.Header `json:"header"`
	Remote string      `json:"remote"`
	Body   string      `json:"body"`             // when it is UTF-8
	Binary []byte      `json:"binary,omitempty"` // when it isn't; base64
}

func serveEcho(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEcho))
	if err != nil {
		http.Error(w, "reading the body: "+err.Error(), http.StatusBadRequest)
		return
	}
	answer := Echo{
		Proto: r.Proto, Method: r.Method, Host: r.Host, Target: r.RequestURI, Header: r.Header, Remote: r.RemoteAddr,
	}
	if utf8.Valid(body) {
		answer.Body = string(body)
	} else {
		answer.Binary = body
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func serveWebSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // any origin
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxEcho)
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if err := conn.Write(r.Context(), kind, message); err != nil {
			return
		}
	}
}

func serveText(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "readable by any origin\n")
}

func serveStatus(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	code := q.number("code", http.StatusOK, 200, 599)
	if q.refused(w) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	if code != http.StatusNoContent && code != http.StatusNotModified {
		_, _ = fmt.Fprintf(w, "%d %s\n", code, http.StatusText(code))
	}
}
