package target

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
)

// maxOutput bounds what is kept of a stream, so that a target that prints for ever can't fill the lab's memory.
const maxOutput = 8 << 20

var errOutputEnded = errors.New("the output ended")

// Output keeps what a process printed on one stream. It is an io.Writer, and safe for use at once.
type Output struct {
	mu      sync.Mutex
	data    []byte
	dropped bool
	done    bool
	changed chan struct{} // closed and replaced at each change
}

// NewOutput returns an empty stream.
func NewOutput() *Output { return &Output{changed: make(chan struct{})} }

// Write never fails; bytes beyond 8 MiB are dropped.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := maxOutput - len(o.data)
	if room < len(p) {
		o.dropped = true
	}
	o.data = append(o.data, p[:min(len(p), room)]...)
	o.wake()
	return len(p), nil
}

func (o *Output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done = true
	o.wake()
}

func (o *Output) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// String is all that was printed so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.data)
}

// Dropped tells whether the stream was longer than what is kept of it.
func (o *Output) Dropped() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// Tail is the last n lines.
func (o *Output) Tail(n int) string {
	lines := strings.Split(strings.TrimRight(o.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Line waits for the complete line number n, counted from 0. It fails when the stream ends first.
func (o *Output) Line(ctx context.Context, n int) (string, error) {
	for {
		o.mu.Lock()
		line, ok := nth(o.data, n)
		done, changed := o.done, o.changed
		o.mu.Unlock()
		switch {
		case ok:
			return line, nil
		case done:
			return "", errOutputEnded
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func nth(data []byte, n int) (string, bool) {
	for ; ; n-- {
		line, rest, found := bytes.Cut(data, []byte("\n"))
		if !found {
			return "", false
		}
		if n == 0 {
			return string(line), true
		}
		data = rest
	}
}
