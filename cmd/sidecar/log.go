package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"unicode"
)

// linePrefix begins every line on stderr.
const linePrefix = "browser-sidecar: "

// logHandler writes records as one line each: the prefix, the message, and the attributes as slog's text form has them.
type logHandler struct {
	attributes slog.Handler // writes into line
	shared     *lineWriter
}

// lineWriter is what a handler and those derived from it have in common.
type lineWriter struct {
	mu   sync.Mutex
	line bytes.Buffer
	out  io.Writer
}

func newLogger(out io.Writer) *slog.Logger {
	shared := &lineWriter{out: out}
	return slog.New(&logHandler{shared: shared, attributes: slog.NewTextHandler(&shared.line, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	})})
}

// Enabled implements [slog.Handler].
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.attributes.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	line := &h.shared.line
	line.Reset()
	line.WriteString(linePrefix + oneLine(r.Message) + " ")
	if err := h.attributes.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.shared.out.Write(append(bytes.TrimRight(line.Bytes(), " \n"), '\n'))
	return err
}

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{attributes: h.attributes.WithAttrs(attrs), shared: h.shared}
}

// WithGroup implements [slog.Handler].
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{attributes: h.attributes.WithGroup(name), shared: h.shared}
}

// oneLine keeps what a message quotes from forging a line of its own.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
