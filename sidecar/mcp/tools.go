package mcp

import (
	"context"
	"encoding/json"
)

// Tools is what the gateway serves: a fixed list of tools, and sessions that call them.
type Tools interface {
	// Definitions lists the tools in the order of tools/list.
	Definitions() []Definition
	// Open starts an agent's session: refs, current tab and modal state of its own over shared pages.
	Open() Session
}

// Session is one agent's.
type Session interface {
	// Call runs a tool. A tool's own failure is a Result with IsError, an unknown tool and bad arguments among them.
	// Calls of one session may run at once. It returns soon after ctx is done.
	Call(ctx context.Context, name string, arguments json.RawMessage) Result
	// Close frees what the session held. Calls under way end.
	Close()
}

// Definition is a tool as tools/list shows it.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations Annotations     `json:"annotations"`
}

// Annotations are MCP's hints about a tool.
type Annotations struct {
	Title           string `json:"title"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	DestructiveHint bool   `json:"destructiveHint"`
	OpenWorldHint   bool   `json:"openWorldHint"`
}

// Result is a tool's answer (MCP: CallToolResult).
type Result struct {
	Content []Content      `json:"content"`
	IsError bool           `json:"isError,omitempty"`
	Meta    map[string]any `json:"_meta,omitempty"`
}

// Content is a block of text, or an image in base64.
type Content struct {
	Type     string `json:"type"` // "text" or "image"
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
}
