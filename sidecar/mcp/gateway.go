// Package mcp is the gateway between agents and the browser's tools: MCP over HTTP, one JSON-RPC message in a POST and
// its answer in one JSON body, without a stream.
//
// It reads and dispatches JSON-RPC itself, since the contract asks for what general servers don't keep: ids that come
// back digit for digit, overlapping calls with the same id, one reading of every message, and any Accept header.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
)

// Options say what is served.
type Options struct {
	Version string // reported by initialize
	Tools   Tools
	Log     *slog.Logger
}

// Gateway serves /mcp (contract §MCP). Whoever reaches it is admitted already.
type Gateway struct {
	version  string
	tools    Tools
	log      *slog.Logger
	sessions *sessions
}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// New returns a gateway to o.Tools. Close ends it.
func New(o Options) *Gateway {
	return &Gateway{
		version:  o.Version,
		tools:    o.Tools,
		log:      o.Log,
		sessions: newSessions(),
	}
}

// Close ends all sessions: calls that wait get an error which says that the browser is stopping, and no more messages
// are taken. It returns when no tool runs any more, or with an error when ctx ends before.
func (g *Gateway) Close(ctx context.Context) error {
	ended, drained := g.sessions.stop()
	select {
	case <-drained:
	case <-ctx.Done():
		return fmt.Errorf("waiting for calls: %w", ctx.Err())
	}
	for _, s := range ended {
		s.tools.Close()
	}
	return nil
}

// ServeHTTP answers a request to /mcp.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		g.post(w, r)
	case http.MethodDelete:
		g.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, DELETE")
		writeError(w, http.StatusMethodNotAllowed, "POST JSON-RPC here")
	}
}

func (g *Gateway) delete(w http.ResponseWriter, r *http.Request) {
	ids := r.Header.Values(sessionHeader)
	if len(ids) != 1 || !g.sessions.end(ids[0]) {
		writeError(w, http.StatusNotFound, "Session not found")
		return
	}
	writeJSON(w, http.StatusOK, map[string]bool{"closed": true})
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		writeError(w, http.StatusRequestEntityTooLarge,
			fmt.Sprintf("The body is too large: at most %d bytes are taken", tooLarge.Limit))
		return
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, "The body could not be read")
		return
	}
	m, fault := parse(body)
	if fault != nil {
		refuse(w, http.StatusBadRequest, nil, fault)
		return
	}
	if m.method == "initialize" {
		g.initialize(w, m)
		return
	}
	result, status, fault := g.handle(r, m)
	switch {
	case fault != nil:
		refuse(w, status, m.id, fault)
	case status == http.StatusAccepted:
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
	default:
		g.succeed(w, m.id, result)
	}
}

// handle does what a message asks for in its session, and says how to answer. The session isn't busy any more when it
// returns: a client that doesn't read its answer keeps none from being ended for room.
func (g *Gateway) handle(r *http.Request, m message) (result any, status int, fault *rpcError) {
	s, status, fault := g.enter(r.Header, m)
	if fault != nil {
		return nil, status, fault
	}
	defer g.sessions.leave(s)
	if m.kind != request {
		if m.method == "notifications/cancelled" {
			g.cancelled(s, m)
		}
		return nil, http.StatusAccepted, nil
	}
	result, fault = g.answer(r.Context(), s, m)
	return result, http.StatusOK, fault
}

// enter finds the session that a message belongs to, and keeps it from being ended for room until sessions.leave.
// Where there is none, it says how to answer.
func (g *Gateway) enter(header http.Header, m message) (s *session, status int, fault *rpcError) {
	switch ids := header.Values(sessionHeader); {
	case m.method == "server/discover" && len(ids) == 0:
		// Clients of MCP 2026-07-28 open with this, and go on to initialize for this very error.
		return nil, http.StatusBadRequest, errNoMethod
	case len(ids) == 0 || ids[0] == "":
		return nil, http.StatusBadRequest, invalid("Mcp-Session-Id header is required")
	case len(ids) > 1:
		return nil, http.StatusBadRequest, invalid("Mcp-Session-Id header must be given once")
	default:
		if s, fault = g.sessions.enter(ids[0]); fault == errStopping {
			return nil, http.StatusServiceUnavailable, fault
		} else if fault != nil {
			return nil, http.StatusNotFound, fault
		}
	}
	// MCP 2025-06-18 asks for this check; a client that sends no version means 2025-03-26.
	for _, v := range header.Values(versionHeader) {
		if !known(v) {
			g.sessions.leave(s)
			return nil, http.StatusBadRequest,
				invalid("Mcp-Protocol-Version must be one of %s", strings.Join(versions(), ", "))
		}
	}
	return s, 0, nil
}

// succeed answers with a result, or where it can't be written as JSON with an error.
func (g *Gateway) succeed(w http.ResponseWriter, id json.RawMessage, result any) {
	body, err := encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
	if err != nil {
		g.log.Error("a result could not be written as JSON", "cause", err)
		refuse(w, http.StatusOK, id, errInternal)
		return
	}
	write(w, http.StatusOK, body)
}

// refuse answers with a JSON-RPC error. A nil id becomes null.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, fault *rpcError) {
	writeJSON(w, status, struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}{"2.0", id, fault})
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		panic(err) // strings and parsed ids always marshal
	}
	write(w, status, body)
}

// encode writes JSON. What is not UTF-8 in its texts, lone surrogates included, becomes U+FFFD.
func encode(v any) ([]byte, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // snapshots are full of < and >, which would take six bytes each
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

func write(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever left does not need it
}
