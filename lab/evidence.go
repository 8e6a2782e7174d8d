package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/browser-sidecar/conformance/target"
)

// screenshotWithin bounds the screenshot of a target that may be broken.
const screenshotWithin = 5 * time.Second

// Evidence is what the lab saw during a spec, a name for each piece, with secrets taken out: what was said, which names
// were looked up, what arrived at canaries, sites and the ingest, the target's log, the processes, and a screenshot where the target
// has a tool for one.
func (l *Lab) Evidence(ctx context.Context) map[string][]byte {
	pieces := map[string][]byte{
		"transcript.txt": l.Transcript.Bytes(),
		"processes.txt":  ProcessList(),
	}
	for name, value := range map[string]any{
		"dns.json": l.DNS.Queries(), "canary.json": l.Canaries.Hits(), "sites.json": l.Sites.Requests(), "connections.json": l.Tap.All(),
		"ingest.json": l.recorded(),
	} {
		b, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			b = []byte(err.Error())
		}
		pieces[name] = b
	}
	l.mu.Lock()
	for i, p := range l.processes {
		pieces[fmt.Sprintf("target-%d.stderr.txt", i+1)] = kept(p.Stderr)
		pieces[fmt.Sprintf("target-%d.stdout.txt", i+1)] = kept(p.Stdout)
	}
	l.mu.Unlock()
	for name, data := range pieces {
		pieces[name] = l.redactor.Bytes(data)
	}
	if png := l.screenshot(ctx); png != nil {
		pieces["screenshot.png"] = png
	}
	return pieces
}

// kept is what is kept of a stream, and says so where that isn't all.
func kept(o *target.Output) []byte {
	text := []byte(o.String())
	if o.Dropped() {
		text = append(text, "\n[the stream was longer than what is kept of it]\n"...)
	}
	return text
}

// screenshot asks the shared sidecar for one; it gives nothing where that doesn't work, since evidence must not fail.
func (l *Lab) screenshot(ctx context.Context) []byte {
	shared := l.current()
	if shared == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, screenshotWithin)
	defer cancel()
	session, err := shared.Connect(ctx)
	if err != nil {
		return nil
	}
	r, err := session.Call(ctx, "browser_take_screenshot", map[string]any{"type": "png"})
	if err != nil || r.IsError {
		return nil
	}
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Data []byte `json:"data"`
		} `json:"content"`
	}
	if err := json.Unmarshal(r.Raw, &result); err != nil {
		return nil
	}
	for _, c := range result.Content {
		if c.Type == "image" {
			return c.Data
		}
	}
	return nil
}
