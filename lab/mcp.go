package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
)

// Session is an MCP session with a sidecar: an agent's.
type Session struct {
	// ID is the Mcp-Session-Id.
	ID string

	sidecar *Sidecar
	next    atomic.Int64
}

// ToolResult is what a tool answered.
type ToolResult struct {
	IsError bool
	// Text is the text of every content block.
	Text string
	Raw  json.RawMessage
}

type rpcAnswer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// InitializeBody is a well-formed initialize message with the given id.
func InitializeBody(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
		`"capabilities":{},"clientInfo":{"name":"conformance","version":"1"}}}`, id)
}

// Connect opens an MCP session.
func (s *Sidecar) Connect(ctx context.Context) (*Session, error) {
	answer, err := s.Do(ctx, s.Post("/mcp", InitializeBody(0)))
	if err != nil {
		return nil, fmt.Errorf("initializing an MCP session: %w", err)
	}
	id := answer.Header.Get("Mcp-Session-Id")
	if answer.Status != 200 || id == "" {
		return nil, fmt.Errorf("initializing an MCP session: %s, session id %q", answer, id)
	}
	session := &Session{ID: id, sidecar: s}
	note := []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if _, err := s.Do(ctx, session.post(note)); err != nil {
		return nil, fmt.Errorf("saying that the MCP session is initialized: %w", err)
	}
	return session, nil
}

// Sidecar is the one that the session is with.
func (m *Session) Sidecar() *Sidecar { return m.sidecar }

func (m *Session) post(body []byte) Request {
	return m.sidecar.Post("/mcp", body).Add("Mcp-Session-Id", m.ID)
}

// Request sends one JSON-RPC request and returns its result.
func (m *Session) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.next.Add(1), "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", method, err)
	}
	answer, err := m.sidecar.Do(ctx, m.post(body))
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", method, err)
	}
	var rpc rpcAnswer
	if err := json.Unmarshal(answer.Body, &rpc); err != nil {
		return nil, fmt.Errorf("calling %s: the answer is no JSON-RPC message: %s", method, answer)
	}
	if rpc.Error != nil {
		return nil, fmt.Errorf("calling %s: error %d: %s", method, rpc.Error.Code, rpc.Error.Message)
	}
	return rpc.Result, nil
}

// Call calls a tool. A tool's own error is a result, not a Go error.
func (m *Session) Call(ctx context.Context, tool string, arguments map[string]any) (*ToolResult, error) {
	raw, err := m.Request(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	return readTool(tool, raw)
}

func readTool(tool string, raw json.RawMessage) (*ToolResult, error) {
	var result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", tool, err)
	}
	var texts []string
	for _, c := range result.Content {
		texts = append(texts, c.Text)
	}
	return &ToolResult{IsError: result.IsError, Text: strings.Join(texts, "\n"), Raw: raw}, nil
}

// Navigate opens a page and fails on a tool's error.
func (m *Session) Navigate(ctx context.Context, url string) error {
	r, err := m.Call(ctx, "browser_navigate", map[string]any{"url": url})
	if err != nil {
		return err
	}
	if r.IsError {
		return fmt.Errorf("navigating to %s: %s", url, r.Text)
	}
	return nil
}

// Evaluate runs a function in the page and decodes what it returned.
func (m *Session) Evaluate(ctx context.Context, function string, result any) error {
	r, err := m.Call(ctx, "browser_evaluate", map[string]any{"function": function})
	if err != nil {
		return err
	}
	return r.Value(result)
}

// Value decodes what a function that ran in the page returned.
func (r *ToolResult) Value(result any) error {
	if r.IsError {
		return fmt.Errorf("evaluating in the page: %s", r.Text)
	}
	_, text, ok := strings.Cut(r.Text, "### Result\n")
	if !ok {
		return fmt.Errorf("evaluating in the page: no result section in %q", r.Text)
	}
	text, _, _ = strings.Cut(text, "\n### ")
	if err := json.Unmarshal([]byte(text), result); err != nil {
		return fmt.Errorf("reading what the page returned, %q: %w", text, err)
	}
	return nil
}

// CallRequest is the HTTP request of a tool call, for a spec that changes it.
func (m *Session) CallRequest(tool string, arguments map[string]any) Request {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": m.next.Add(1), "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": arguments},
	})
	if err != nil {
		// Arguments are a spec's own literals.
		panic(fmt.Sprintf("encoding the arguments of %s: %v", tool, err))
	}
	return m.post(body)
}

// DeleteRequest is the HTTP request that ends the session.
func (m *Session) DeleteRequest() Request {
	return m.sidecar.Get("/mcp").As("DELETE").Add("Mcp-Session-Id", m.ID)
}
