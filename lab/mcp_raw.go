package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Message is the HTTP request that posts a body as it stands to /mcp, in the session with the given id, or in none where
// that is empty.
func (s *Sidecar) Message(session, body string) Request {
	r := s.Post("/mcp", []byte(body))
	if session != "" {
		r = r.Add("Mcp-Session-Id", session)
	}
	return r
}

// RPC is a JSON-RPC answer, each member as it was sent. One that wasn't sent is nil.
type RPC struct {
	ID, Result, Error json.RawMessage
	// Code is the error's, 0 without one.
	Code int
}

// RPC reads the body as exactly one JSON-RPC answer. Names count as they are written.
func (r *Response) RPC() (*RPC, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &members); err != nil {
		return nil, fmt.Errorf("reading %s as one JSON object: %w", r, err)
	}
	answer := &RPC{ID: members["id"], Result: members["result"], Error: members["error"]}
	switch {
	case string(members["jsonrpc"]) != `"2.0"`:
		return nil, fmt.Errorf("reading %s as JSON-RPC: jsonrpc isn't \"2.0\"", r)
	case answer.ID == nil:
		return nil, fmt.Errorf("reading %s as JSON-RPC: it has no id", r)
	case (answer.Result == nil) == (answer.Error == nil):
		return nil, fmt.Errorf("reading %s as JSON-RPC: it has not one of result and error", r)
	case answer.Error == nil:
		return answer, nil
	}
	var fault struct {
		Code    *int    `json:"code"`
		Message *string `json:"message"`
	}
	if err := json.Unmarshal(answer.Error, &fault); err != nil || fault.Code == nil || fault.Message == nil {
		return nil, fmt.Errorf("reading %s as JSON-RPC: its error has no integer code and text", r)
	}
	answer.Code = *fault.Code
	return answer, nil
}

// HasID tells whether the answer's id has the type and value of one that was sent: the same text, or for strings the same
// value.
func (a *RPC) HasID(sent string) bool {
	if !bytes.HasPrefix([]byte(sent), []byte{'"'}) || !bytes.HasPrefix(a.ID, []byte{'"'}) {
		return sent == string(a.ID)
	}
	var want, got string
	return json.Unmarshal([]byte(sent), &want) == nil && json.Unmarshal(a.ID, &got) == nil && want == got
}

// Tool reads the result of a tools/call.
func (a *RPC) Tool() (*ToolResult, error) {
	if a.Result == nil {
		return nil, fmt.Errorf("calling a tool: JSON-RPC error %s", a.Error)
	}
	return readTool("a tool", a.Result)
}

// Flight is a request under way, on a connection of its own.
type Flight struct {
	conn   *Conn
	landed chan struct{}
	answer *Response
	err    error
}

// Launch sends a request and doesn't wait for its answer. The connection ends with ctx.
func (s *Sidecar) Launch(ctx context.Context, r Request) (*Flight, error) {
	conn, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := conn.Send(r.Bytes()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	f := &Flight{conn: conn, landed: make(chan struct{})}
	go func() {
		defer close(f.landed)
		f.answer, f.err = conn.Receive(r.Method)
		_ = conn.Close() // nothing more is expected of it
	}()
	return f, nil
}

// Landed is closed once the answer is there, or the connection has ended without one.
func (f *Flight) Landed() <-chan struct{} { return f.landed }

// Answer waits for the answer.
func (f *Flight) Answer(ctx context.Context, within time.Duration) (*Response, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-f.landed:
		return f.answer, f.err
	case <-timer.C:
		return nil, fmt.Errorf("no answer within %s", within)
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for an answer: %w", context.Cause(ctx))
	}
}

// Drop closes the connection under the request, as a client that leaves.
func (f *Flight) Drop() error { return f.conn.Close() }
