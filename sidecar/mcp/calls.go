package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"
)

const (
	maxCall = 120 * time.Second      // until a call is ended
	grace   = 500 * time.Millisecond // until an ended call is answered though its tool has not returned
)

var (
	errNoMethod = &rpcError{codeNoMethod, "Method not found"}
	errInternal = &rpcError{codeInternal, "Internal error"}
)

// versions are those whose rules the gateway keeps, the newest first.
func versions() []string { return []string{"2025-11-25", "2025-06-18", "2025-03-26"} }

func known(version string) bool { return slices.Contains(versions(), version) }

// initialize opens a session, whatever session header came along.
func (g *Gateway) initialize(w http.ResponseWriter, m message) {
	if m.kind != request {
		refuse(w, http.StatusBadRequest, nil, invalid("initialize must be a request"))
		return
	}
	params, _ := object(m.params)
	version, ok := text(params["protocolVersion"])
	if !ok {
		refuse(w, http.StatusOK, m.id, badParams("params.protocolVersion must be a string"))
		return
	}
	if !known(version) {
		version = versions()[0]
	}
	tools := g.tools.Open()
	s, fault := g.sessions.begin(tools)
	if fault != nil {
		tools.Close()
		refuse(w, http.StatusServiceUnavailable, m.id, fault)
		return
	}
	w.Header().Set(sessionHeader, s.id)
	g.succeed(w, m.id, map[string]any{
		"protocolVersion": version,
		"capabilities":    map[string]any{"tools": struct{}{}},
		"serverInfo":      map[string]string{"name": "browser-sidecar", "version": g.version},
	})
}

// answer runs a request of a session that it entered.
func (g *Gateway) answer(ctx context.Context, s *session, m message) (any, *rpcError) {
	switch m.method {
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return map[string]any{"tools": g.tools.Definitions()}, nil
	case "tools/call":
		return g.call(ctx, s, m)
	default:
		return nil, errNoMethod
	}
}

// cancelled ends the calls that a notifications/cancelled names. One that names none is ignored, as MCP asks.
func (g *Gateway) cancelled(s *session, m message) {
	params, _ := object(m.params)
	if id := params["requestId"]; id != nil {
		g.sessions.cancel(s, string(id))
	}
}

// call runs a tool. It ends early when the client cancels it or leaves, when its session or the gateway ends, and when it
// takes too long; the answer then says which.
func (g *Gateway) call(ctx context.Context, s *session, m message) (any, *rpcError) {
	name, arguments, fault := callParams(m.params)
	if fault != nil {
		return nil, fault
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, release := context.WithTimeoutCause(ctx, maxCall, errTimeout)
	defer release()
	c := &call{id: string(m.id), cancel: cancel}
	if fault := g.sessions.start(s, c); fault != nil {
		return nil, fault
	}
	returned := make(chan outcome, 1)
	go func() {
		defer g.sessions.done(s, c)
		returned <- g.run(ctx, s.tools, name, arguments)
	}()
	select {
	case o := <-returned:
		if ctx.Err() == nil {
			return o.answer()
		}
	case <-ctx.Done():
		// The tool is about to return. To answer after it means that nothing of the call is done after its answer.
		select {
		case <-returned:
		case <-time.After(grace):
			g.log.Warn("a tool goes on after its call ended", "tool", quote(name))
		}
	}
	if errors.As(context.Cause(ctx), &fault) {
		return nil, fault
	}
	return nil, errCancelled // the client left
}

// outcome is what a tool returned, or that it panicked.
type outcome struct {
	result Result
	failed bool
}

func (o outcome) answer() (any, *rpcError) {
	if o.failed {
		return nil, errInternal
	}
	return wireResult(o.result), nil
}

// run calls a tool. One that panics fails its own call only.
func (g *Gateway) run(ctx context.Context, tools Session, name string, arguments json.RawMessage) (o outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			stack := string(debug.Stack())
			if other, ok := cause.(interface{ Stack() string }); ok { // it began in another goroutine
				stack = other.Stack()
			}
			// The value's own text may hold a page's or a client's words.
			g.log.Error("a tool panicked", "tool", quote(name), "cause", fmt.Sprintf("%T", cause), "stack", stack)
			o.failed = true
		}
	}()
	return outcome{result: tools.Call(ctx, name, arguments)}
}

// callParams reads the params of a tools/call. Missing arguments are an empty object. A _meta among them is taken out:
// to some servers it says where file names resolve, which is not a client's to say.
func callParams(raw json.RawMessage) (name string, arguments json.RawMessage, fault *rpcError) {
	params, ok := object(raw)
	if !ok {
		return "", nil, badParams("params must be an object")
	}
	if name, ok = text(params["name"]); !ok {
		return "", nil, badParams("params.name must be a string")
	}
	arguments = params["arguments"]
	if arguments == nil || isNull(arguments) {
		return name, json.RawMessage("{}"), nil
	}
	members, ok := object(arguments)
	if !ok {
		return "", nil, badParams("params.arguments must be an object")
	}
	if _, ok := members["_meta"]; ok {
		delete(members, "_meta")
		rest, err := json.Marshal(members)
		if err != nil {
			return "", nil, badParams("params.arguments could not be read")
		}
		arguments = rest
	}
	return name, arguments, nil
}

// wireResult gives a result the members that MCP requires of each kind of content, empty ones too.
func wireResult(r Result) any {
	type textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type imageBlock struct {
		Type     string `json:"type"`
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
	}
	content := make([]any, len(r.Content))
	for i, c := range r.Content {
		if c.Type == "image" {
			content[i] = imageBlock{c.Type, c.Data, c.MIMEType}
		} else {
			content[i] = textBlock{"text", c.Text}
		}
	}
	return struct {
		Content []any          `json:"content"`
		IsError bool           `json:"isError,omitempty"`
		Meta    map[string]any `json:"_meta,omitempty"`
	}{content, r.IsError, r.Meta}
}
