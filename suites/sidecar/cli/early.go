package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// stage tells whether a start has come so far.
type stage func(before lab.Census, workdir string) bool

func atOnce(lab.Census, string) bool { return true }

func withDirectory(_ lab.Census, workdir string) bool { return len(entries(workdir)) > 0 }

func withBrowser(before lab.Census, _ string) bool {
	_, there := before.Browser()
	return there
}

// withProfile is reached when Chromium writes, at whatever depth its profile is.
func withProfile(_ lab.Census, workdir string) bool {
	found, err := filepath.Glob(workdir + "/*/*/*")
	engine.Harness(err)
	return len(found) > 0
}

func withRenderer(before lab.Census, _ string) bool {
	return slices.ContainsFunc(before.Newcomers(), func(p lab.Process) bool { return strings.Contains(p.Line, "--type=renderer") })
}

// reach waits until a start has come so far; one that is ready or over is further.
func reach(ctx SpecContext, p *target.Process, before lab.Census, workdir string, reached stage) {
	GinkgoHelper()
	Eventually(ctx, func() bool {
		select {
		case <-p.Exited():
			return true
		default:
			return reached(before, workdir) || p.Stdout.String() != ""
		}
	}).WithTimeout(20*time.Second).WithPolling(2*time.Millisecond).Should(BeTrue(), "the start goes on; its log: %s", p.Stderr.Tail(10))
}

// "A signal that arrives before the ready line leaves no directory and no process behind."
func early(l *lab.Lab) {
	DescribeTable("leaves nothing when a signal comes before it is ready", engine.Clause("cli.signal-early"),
		func(ctx SpecContext, signal syscall.Signal, reached stage) {
			attack.Alive(ctx, attack.Sidecar(ctx, l)) // the control: without a signal a start succeeds
			c, workdir := base(l, nil)
			before := l.Census()
			p := launch(ctx, l, c)
			reach(ctx, p, before, workdir, reached)
			tell(ctx, p, signal)
			ended(ctx, p, "an early "+signal.String())
			nothing(ctx, before, workdir, "an early "+signal.String())
		},
		Entry("SIGTERM at once", syscall.SIGTERM, stage(atOnce)),
		Entry("SIGTERM once there is a directory", syscall.SIGTERM, stage(withDirectory)),
		Entry("SIGINT once there is a browser", syscall.SIGINT, stage(withBrowser)),
		Entry("SIGTERM once there is a browser", syscall.SIGTERM, stage(withBrowser)),
		Entry("SIGTERM once the browser writes its profile", syscall.SIGTERM, stage(withProfile)),
		Entry("SIGHUP once there is a renderer", syscall.SIGHUP, stage(withRenderer)),
	)
}
