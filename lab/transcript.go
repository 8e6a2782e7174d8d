package lab

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// maxEntry bounds one entry of the transcript; the rest is counted, not kept.
const maxEntry = 16 << 10

// Transcript keeps what the suite said to the target during one spec, and what came back.
type Transcript struct {
	mu      sync.Mutex
	entries bytes.Buffer
}

// Add notes one thing said (">") or heard ("<"), or a remark ("#").
func (t *Transcript) Add(direction, what string, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(&t.entries, "%s %s %s\n", time.Now().UTC().Format("15:04:05.000"), direction, what)
	if len(body) == 0 {
		return
	}
	t.entries.Write(body[:min(len(body), maxEntry)])
	if cut := len(body) - maxEntry; cut > 0 {
		fmt.Fprintf(&t.entries, "\n… and %d bytes more", cut)
	}
	t.entries.WriteByte('\n')
}

// Bytes is the whole transcript.
func (t *Transcript) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.entries.Bytes())
}

// Reset forgets it.
func (t *Transcript) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries.Reset()
}
