package cli

import (
	"context"
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

// "Each of SIGTERM, SIGINT and SIGHUP makes the sidecar close the browser, post what it has recorded, remove its
// directories and exit 0."
func signals(l *lab.Lab) {
	DescribeTable("stops cleanly on a signal", engine.Clause("cli.signal-stop"),
		func(ctx SpecContext, signal syscall.Signal) {
			before := l.Census()
			s := attack.Start(ctx, l, recording(l))
			text := mark(ctx, l, s)
			Expect(len(s.Tree())).To(BeNumerically(">", 1), "the sidecar's processes: its own and the browser's")
			tell(ctx, s.Process, signal)
			Expect(ended(ctx, s.Process, signal.String())).To(Equal(target.Exit{}), "the exit after %s", signal)
			nothing(ctx, before, s.Dir, signal.String())
			posted(ctx, l, text)
		},
		Entry("SIGTERM", syscall.SIGTERM),
		Entry("SIGINT", syscall.SIGINT),
		Entry("SIGHUP", syscall.SIGHUP),
	)

	It("posts what it has recorded", engine.Clause("cli.signal-stop"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, recording(l))
		mark(ctx, l, s)
		// What is posted by and by has begun to come, so that all that follows is the stop's to post.
		const first = 2 * time.Second
		waiting, cancel := context.WithTimeout(ctx, first)
		defer cancel()
		// A sidecar without the recording profile posts nothing, and has nothing to lose.
		_ = l.Ingest.Wait(waiting, func(events []ingest.Event) bool { return len(events) > 0 })
		text := mark(ctx, l, s)
		tell(ctx, s.Process, syscall.SIGTERM)
		Expect(ended(ctx, s.Process, "SIGTERM")).To(Equal(target.Exit{}), "the exit after SIGTERM")
		posted(ctx, l, text)
	})
}

// "A second signal during a stop, of the same or another kind, costs no recorded event and leaves no directory behind."
func twice(l *lab.Lab) {
	It("ends a stop in order when more signals come", engine.Clause("cli.signal-twice"), SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		// stop begins a stop that has something to do, goes on with more signals, and tells what became of the mark.
		stop := func(did string, signal syscall.Signal, more func(*lab.Sidecar)) bool {
			l.Ingest.Reset()
			l.Ingest.Always(ingest.Slow(300 * time.Millisecond))
			before := l.Census()
			s := attack.Start(ctx, l, recording(l))
			text := mark(ctx, l, s)
			waits := wait(ctx, l, s, "/waits", "() => fetch('/waits').then(() => new Promise(() => {}))")
			tell(ctx, s.Process, signal)
			more(s)
			Expect(ended(ctx, s.Process, did)).To(Equal(target.Exit{}), "the exit after %s", did)
			nothing(ctx, before, s.Dir, did)
			Eventually(ctx, waits).WithTimeout(attack.GoneWithin).Should(BeClosed(), "the waiting call: an answer or a closed connection after %s", did)
			return arrived(l, text)
		}
		recorded := stop("one signal", syscall.SIGTERM, func(*lab.Sidecar) {})

		for _, c := range []struct {
			did   string
			first syscall.Signal
			more  func(*lab.Sidecar)
		}{
			{"SIGTERM and another one at once", syscall.SIGTERM, func(s *lab.Sidecar) { tell(ctx, s.Process, syscall.SIGTERM) }},
			{"SIGINT and, once no connection is taken any more, SIGTERM", syscall.SIGINT, func(s *lab.Sidecar) {
				closed(ctx, s)
				tell(ctx, s.Process, syscall.SIGTERM)
			}},
			{"SIGHUP and every signal in turn until the end", syscall.SIGHUP, func(s *lab.Sidecar) { pester(ctx, s.Process) }},
		} {
			marked := stop(c.did, c.first, c.more)
			Expect(marked || !recorded).To(BeTrue(), "what arrived at the ingest after one signal arrives after %s", c.did)
		}
	})
}

// closed waits until the sidecar takes no connection any more: its stop is under way.
func closed(ctx context.Context, s *lab.Sidecar) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		c, err := s.Dial(ctx)
		if err == nil {
			err = c.Close()
			Expect(err).NotTo(HaveOccurred(), "closing a connection")
		}
		return err
	}).WithTimeout(endsWithin).WithPolling(2*time.Millisecond).ShouldNot(Succeed(), "connecting during a stop")
}

// pester sends every stop signal in turn until the process has ended.
func pester(ctx context.Context, p *target.Process) {
	GinkgoHelper()
	kinds := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	n := 0
	Eventually(ctx, func() <-chan struct{} {
		select {
		case <-p.Exited():
		default:
			tell(ctx, p, kinds[n%len(kinds)])
			n++
		}
		return p.Exited()
	}).WithTimeout(endsWithin).WithPolling(20*time.Millisecond).Should(BeClosed(), "the end after more and more signals")
}
