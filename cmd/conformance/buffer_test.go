package main_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
)

// lockedBuffer collects what a process prints, while a test waits for a part of it.
type lockedBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor returns once the text is there, and fails when it isn't in time.
func (l *lockedBuffer) waitFor(text string, within time.Duration) error {
	limit := time.After(within)
	for {
		l.mu.Lock()
		if strings.Contains(l.b.String(), text) {
			l.mu.Unlock()
			return nil
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			return fmt.Errorf("no %q within %s in:\n%s", text, within, l.String())
		}
	}
}
