package mcp

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// resting is a session with a tab of its own whose client says nothing for a while.
type resting struct {
	*lab.Session
	path, ref string
}

// rest opens a session in a new tab of its own, so that to lose the session's state would show.
func rest(ctx context.Context, l *lab.Lab, s *lab.Sidecar, path string) resting {
	GinkgoHelper()
	m := attack.Connect(ctx, s)
	tab(ctx, m, serve(l, path, `<button onclick="window.clicked = true">Go</button>`))
	ref := refOf(use(ctx, m, "browser_snapshot", nil), `button "Go"`)
	use(ctx, m, "browser_evaluate", map[string]any{"function": fmt.Sprintf("() => { window.name = %q }", path)})
	return resting{m, path, ref}
}

// goesOn wants the session to be where it was, in the same tab, with the refs it had.
func (r resting) goesOn(ctx context.Context, after time.Duration) {
	GinkgoHelper()
	did := fmt.Sprintf("after %s of silence", after)
	Expect(where(ctx, r.Session)).To(Equal(r.path), "where the session is %s", did)
	Expect(read[string](ctx, r.Session, "() => window.name")).To(Equal(r.path), "what the session left in its tab, %s", did)
	use(ctx, r.Session, "browser_click", map[string]any{"element": "Go", "target": r.ref})
	Expect(read[bool](ctx, r.Session, "() => window.clicked === true")).To(BeTrue(), "a click by a ref from before, %s", did)
}

// silence says nothing until a time after the start.
func silence(ctx context.Context, start time.Time, length time.Duration) {
	GinkgoHelper()
	timer := time.NewTimer(time.Until(start.Add(length)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		Fail("the time was over before the silence was")
	}
}

func idle(l *lab.Lab) {
	// "A session whose client says nothing for 20 seconds goes on with the same tab when the client speaks again." – "Clients
	// that only POST, and clients that ask with GET and never read, are alike here. No ping is needed from them."
	It("goes on after 20 seconds of silence", engine.Clause("mcp.idle-session"), SpecTimeout(75*time.Second), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		posting, asking := rest(ctx, l, s, "/posting"), rest(ctx, l, s, "/asking")
		c, err := s.Dial(ctx)
		Expect(err).NotTo(HaveOccurred(), "opening a connection")
		defer c.Close()
		stream := s.Get("/mcp").Add("Accept", "text/event-stream").Add("Mcp-Session-Id", asking.ID)
		Expect(c.Send(stream.Bytes())).To(Succeed(), "asking for a stream that nobody reads")
		const length = 20 * time.Second
		silence(ctx, time.Now(), length)
		posting.goesOn(ctx, length)
		asking.goesOn(ctx, length)
	})

	// "A session whose client says nothing for 70 seconds, or for ten minutes, goes on with the same tab when the client
	// speaks again."
	It("goes on after a minute and after ten", engine.Clause("mcp.idle-session-long"), SpecTimeout(12*time.Minute), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		short, long := rest(ctx, l, s, "/short"), rest(ctx, l, s, "/long")
		start := time.Now()
		silence(ctx, start, 70*time.Second)
		short.goesOn(ctx, 70*time.Second)
		silence(ctx, start, 10*time.Minute)
		long.goesOn(ctx, 10*time.Minute)
	})
}
