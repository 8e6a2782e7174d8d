package tools

import (
	"context"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// How long an action's consequences are waited for: until the page is quiet, at most this long (upstream's bounds).
const (
	quietFor     = 80 * time.Millisecond
	quietAtMost  = 500 * time.Millisecond
	loadAtMost   = 10 * time.Second
	answerAtMost = 5 * time.Second
)

// settle waits for what an action set off: changes of the page, a navigation, requests since mark. It tells nothing:
// a page that isn't quiet in time is shown as it is.
func settle(ctx context.Context, p *browser.Page, mark browser.Mark) {
	quiet(ctx, p)
	if idle(ctx, p, mark) {
		quiet(ctx, p)
	}
}

func quiet(ctx context.Context, p *browser.Page) {
	ctx, cancel := context.WithTimeout(ctx, 2*quietAtMost)
	defer cancel()
	// An error means that the document went away, which idle waits for, or that the page is hung.
	_ = aria.Quiet(ctx, p, quietFor, quietAtMost)
}

// idle waits while the tab loads or requests since mark are under way; false when there was nothing to wait for.
func idle(ctx context.Context, p *browser.Page, mark browser.Mark) bool {
	began := time.Now()
	timer := time.NewTimer(loadAtMost)
	defer timer.Stop()
	waited := false
	for {
		changed := p.Changed()
		loading, requests := p.Busy(mark)
		if !loading && requests == 0 {
			return waited
		}
		if !loading {
			timer.Reset(max(0, answerAtMost-time.Since(began)))
		}
		waited = true
		select {
		case <-changed:
		case <-timer.C:
			return waited
		case <-p.Closed():
			return waited
		case <-ctx.Done():
			return waited
		}
	}
}
