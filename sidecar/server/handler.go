package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// handler takes a request through the checks in their order: its form, who sends it, its body, and only then its path.
type handler struct {
	Options
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.recovered(w)
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		writeError(w, http.StatusInternalServerError, "Internal error")
		return
	}
	head := c.next()
	if head.fault != nil {
		refuse(w, c, head.fault)
		return
	}
	if refusal, admitted := h.Gate.Admit(r.Host, r.Header); !admitted {
		if head.framing == sized && head.length == 0 {
			writeError(w, refusal.Status, refusal.Text) // nothing is left unread: the connection may go on
			return
		}
		refuse(w, c, &fault{refusal.Status, refusal.Text})
		return
	}
	if head.framing == opaque {
		refuse(w, c, &fault{http.StatusNotFound, "Not found"})
		return
	}
	if f := h.readBody(w, r); f != nil {
		refuse(w, c, f)
		return
	}
	if head.framing == chunked {
		w.Header().Set("Connection", "close") // where the next request would begin isn't known (wire.go)
	}
	h.route(w, r)
}

// route serves a request that is admitted and complete. Queries are ignored.
func (h *handler) route(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.EscapedPath(); {
	case path == "/mcp":
		h.MCP.ServeHTTP(w, r)
	case path == "/health" && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": h.Version})
	default:
		writeError(w, http.StatusNotFound, "Not found")
	}
}

// readBody reads the whole body, so that no handler waits for a slow client or acts on half a message.
func (h *handler) readBody(w http.ResponseWriter, r *http.Request) *fault {
	tooLarge := &fault{http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is too large: at most %d bytes are taken", h.Limits.BodyBytes)}
	if r.ContentLength > h.Limits.BodyBytes {
		return tooLarge
	}
	if r.ContentLength == 0 {
		return nil
	}
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.Limits.BodyTime)); err != nil {
		return badRequest("The body could not be read")
	}
	// At the body's end net/http takes the deadline away again and watches for the client's leaving.
	body, err := io.ReadAll(io.LimitReader(r.Body, h.Limits.BodyBytes+1))
	switch {
	case int64(len(body)) > h.Limits.BodyBytes:
		return tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &fault{http.StatusRequestTimeout, "The body took too long"}
	case err != nil:
		return badRequest("Malformed request: the body is broken")
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// recovered answers for a handler that failed, and logs where, without file paths or anything of the request's.
func (h *handler) recovered(w http.ResponseWriter) {
	cause := recover()
	switch cause {
	case nil:
		return
	case http.ErrAbortHandler:
		panic(cause) // net/http's own way to drop a connection
	}
	text := fmt.Sprintf("%T", cause) // a value's own text may hold a page's or a client's words
	var broken runtime.Error
	if err, ok := cause.(error); ok && errors.As(err, &broken) {
		text = broken.Error()
	}
	h.Log.Error("a request handler failed", slog.String("cause", text), slog.String("in", callers()))
	w.Header().Set("Connection", "close")
	writeError(w, http.StatusInternalServerError, "Internal error")
}

// callers names the functions that panicked, innermost first.
func callers() string {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs)])
	var names []string
	for {
		frame, more := frames.Next()
		names = append(names, frame.Function[strings.LastIndex(frame.Function, "/")+1:])
		if !more {
			return strings.Join(names, " < ")
		}
	}
}

// refuse answers and closes: what the client sends meanwhile is read and dropped, so that the answer reaches it.
func refuse(w http.ResponseWriter, c *conn, f *fault) {
	c.linger()
	// net/http would read on for as long as a body's rest is small; lingering does that, with a bound.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	w.Header().Set("Connection", "close")
	writeError(w, f.status, f.text)
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}

func writeJSON(w http.ResponseWriter, status int, v map[string]string) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always marshal
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
