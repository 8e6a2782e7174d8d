package cli

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/ingest"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// "A stop ends within 10 seconds, even when the ingest does not answer and tool calls are waiting."
func bounded(l *lab.Lab) {
	It("stops in time while calls wait and the ingest hangs", engine.Clause("cli.stop-bounded"), func(ctx SpecContext) {
		l.Ingest.Always(ingest.Hang())
		before := l.Census()
		s := attack.Start(ctx, l, recording(l))
		mark(ctx, l, s)
		// A request that never gets whole, and a connection that says nothing, wait as well.
		begun, err := s.Dial(ctx)
		Expect(err).NotTo(HaveOccurred(), "connecting")
		DeferCleanup(begun.Close)
		Expect(begun.Send(s.Get("/mcp").As("POST").Add("Content-Length", "1000").Bytes())).To(Succeed(), "sending a request without its body")
		silent, err := s.Dial(ctx)
		Expect(err).NotTo(HaveOccurred(), "connecting")
		DeferCleanup(silent.Close)
		// The page's script goes into an endless loop once both calls wait.
		gate := make(chan struct{})
		engine.Harness(l.Sites.Handle(l.AppAddr().String(), "/gate", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		})))
		calls := map[string]<-chan struct{}{
			"a script that never ends":      wait(ctx, l, s, "/gate", "() => fetch('/gate').then(() => fetch('/loops')).then(() => { for (;;); })"),
			"a page that is never answered": hang(ctx, l, s, "/hangs"),
		}
		close(gate)
		began(ctx, l, "/loops")
		for what, over := range calls {
			Expect(over).NotTo(BeClosed(), "the call for %s before the stop", what)
		}
		tell(ctx, s.Process, syscall.SIGTERM)
		Expect(ended(ctx, s.Process, "SIGTERM")).To(Equal(target.Exit{}), "the exit after SIGTERM")
		for what, over := range calls {
			Eventually(ctx, over).WithTimeout(time.Second).Should(BeClosed(), "the call for %s has an answer or a closed connection", what)
		}
		nothing(ctx, before, s.Dir, "SIGTERM")
	})
}

// "At the time stop_at the sidecar stops as it does on a signal, exit status 0. A stop_at in the past makes it stop at once,
// exit status 0."
func expires(l *lab.Lab) {
	It("stops at the time that stop_at names", engine.Clause("cli.stop-at"), SpecTimeout(time.Minute), func(ctx SpecContext) {
		type run struct {
			at      time.Time
			process *target.Process
			workdir string
			ended   chan time.Time
		}
		var runs []*run
		before := l.Census()
		// Two at once, since each takes as long as it may.
		start := func(at time.Time, value any) {
			c, workdir := base(l, func(c lab.Config) lab.Config { return c.With("stop_at", value) })
			r := &run{at, launch(ctx, l, c), workdir, make(chan time.Time, 1)}
			go func() {
				<-r.process.Exited()
				r.ended <- time.Now()
			}()
			runs = append(runs, r)
		}
		number := time.Now().Add(4 * time.Second).Truncate(time.Millisecond)
		start(number, number.UnixMilli())
		text := number.Add(time.Second)
		start(text, text.UTC().Format("2006-01-02T15:04:05.000Z"))
		for _, r := range runs {
			did := fmt.Sprintf("starting with a stop_at %s", r.at.Format(time.RFC3339Nano))
			var at time.Time
			// A start that takes longer than that is bounded as well.
			Eventually(ctx, r.ended).WithTimeout(time.Until(r.at)+endsWithin).Should(Receive(&at), "the end after %s", did)
			Expect(r.process.Exit()).To(Equal(target.Exit{}), "the exit after %s", did)
			// Clocks are read one after the other.
			Expect(at).To(BeTemporally(">=", r.at.Add(-50*time.Millisecond)), "the time of the end after %s", did)
			Expect(entries(r.workdir)).To(BeEmpty(), "what is left in the workdir after %s", did)
		}
		attack.Gone(ctx, before, "stop_at")
	})

	DescribeTable("stops at once when stop_at is over", engine.Clause("cli.stop-at"),
		func(ctx SpecContext, value any) {
			attack.Alive(ctx, attack.Sidecar(ctx, l)) // the control: without it, a sidecar goes on
			c, workdir := base(l, func(c lab.Config) lab.Config { return c.With("stop_at", value) })
			before := l.Census()
			p := launch(ctx, l, c)
			Expect(ended(ctx, p, "starting")).To(Equal(target.Exit{}), "the exit with a stop_at in the past; its log: %s", p.Stderr.Tail(10))
			Expect(strings.Count(p.Stdout.String(), "\n")).To(BeNumerically("<=", 1), "the lines on stdout: %q", p.Stdout)
			nothing(ctx, before, workdir, "a stop_at in the past")
		},
		Entry("as a number", 1000),
		Entry("as an ISO 8601 time", "2001-02-03T04:05:06Z"),
	)
}
