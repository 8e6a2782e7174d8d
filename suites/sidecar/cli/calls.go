package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/ingest"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// recording adds the lab's ingest to a configuration.
func recording(l *lab.Lab) func(lab.Config) lab.Config {
	return func(c lab.Config) lab.Config { return c.With("recording", l.Recording()) }
}

// mark opens a page and leaves a text in it and on its console, which a sidecar that records has to post.
func mark(ctx context.Context, l *lab.Lab, s *lab.Sidecar) string {
	GinkgoHelper()
	session := attack.Connect(ctx, s)
	Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
	text := "mark-" + rand.Text()
	var done bool
	Expect(session.Evaluate(ctx, fmt.Sprintf("() => { document.body.append('%s'); console.error('%s'); return true }", text, text), &done)).
		To(Succeed(), "changing the page and logging an error")
	return text
}

// arrived tells whether the ingest has stored a text.
func arrived(l *lab.Lab, text string) bool {
	return slices.ContainsFunc(l.Ingest.Events(), func(e ingest.Event) bool { return bytes.Contains(e.Data, []byte(text)) })
}

// posted wants the ingest to have the mark, if anything of the run was posted at all: what a sidecar without the recording
// profile can't lose, this clause doesn't ask of it.
func posted(ctx context.Context, l *lab.Lab, text string) {
	GinkgoHelper()
	if len(l.Ingest.Posts()) == 0 {
		return
	}
	Eventually(ctx, func() bool { return arrived(l, text) }).WithTimeout(time.Second).Should(BeTrue(),
		"what the page showed and logged just before the stop is posted; %d posts came, with %d events", len(l.Ingest.Posts()), len(l.Ingest.Events()))
}

// wait has a page call a function that asks the app for a path and never returns, once the app has been asked. The channel
// is closed when the call is answered, or its connection is closed.
func wait(ctx context.Context, l *lab.Lab, s *lab.Sidecar, path, function string) <-chan struct{} {
	GinkgoHelper()
	session := attack.Connect(ctx, s)
	over := send(ctx, s, session.CallRequest("browser_evaluate", map[string]any{"function": function}))
	began(ctx, l, path)
	return over
}

// hang opens a page that the app never answers.
func hang(ctx context.Context, l *lab.Lab, s *lab.Sidecar, path string) <-chan struct{} {
	GinkgoHelper()
	engine.Harness(l.Sites.Handle(l.AppAddr().String(), path, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})))
	session := attack.Connect(ctx, s)
	over := send(ctx, s, session.CallRequest("browser_navigate", map[string]any{"url": l.AppURL(path)}))
	began(ctx, l, path)
	return over
}

func began(ctx context.Context, l *lab.Lab, path string) {
	GinkgoHelper()
	Eventually(ctx, func() int { return len(l.Sites.RequestsTo(l.AppAddr().String(), path)) }).
		WithTimeout(10*time.Second).Should(BeNumerically(">", 0), "the app is asked for %s by a call that then waits", path)
}

// send sends a request, whose connection ends with ctx at the latest. The channel is closed once the answer is there or
// the connection has ended: for a call that waits both are equally good.
func send(ctx context.Context, s *lab.Sidecar, r lab.Request) <-chan struct{} {
	GinkgoHelper()
	flight, err := s.Launch(ctx, r)
	Expect(err).NotTo(HaveOccurred(), "sending a call that waits")
	return flight.Landed()
}
