package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/browser-sidecar/conformance/fakes/ingest"
	"github.com/browser-sidecar/conformance/report"
)

// ingestAddr is where the recording's ingest listens: on loopback, which the sidecar itself reaches and its pages don't.
func ingestAddr() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:4000") }

func (l *Lab) startIngest(ctx context.Context) error {
	l.recordingToken = newToken()
	if err := l.redactor.Add(report.Secret{Label: "recording-token", Value: l.recordingToken}); err != nil {
		return err
	}
	var err error
	if l.Ingest, err = ingest.Start(ctx, ingestAddr().String(), ingest.Options{Token: l.recordingToken}, nil); err != nil {
		return fmt.Errorf("starting the lab's ingest: %w", err)
	}
	return nil
}

// Recording is a valid value for the configuration's key "recording": it sends to the lab's ingest.
func (l *Lab) Recording() map[string]any {
	return map[string]any{"url": l.Ingest.URL(), "token": l.recordingToken}
}

// recorded tells what came to the ingest, for the evidence: each post in short, and its faults.
func (l *Lab) recorded() any {
	type post struct {
		Seq, Events, WireBytes, Status int
		At                             time.Time
		Stored                         bool
		Text                           json.RawMessage `json:",omitempty"`
	}
	const longest = 64 << 10
	posts := []post{}
	for _, p := range l.Ingest.Posts() {
		short := post{Seq: p.Seq, Events: len(p.Events), WireBytes: p.WireBytes, Status: p.Status, At: p.At, Stored: p.Stored}
		if len(p.Text) <= longest && json.Valid(p.Text) {
			short.Text = p.Text
		}
		posts = append(posts, short)
	}
	return map[string]any{"posts": posts, "violations": l.Ingest.Violations()}
}
