package cli

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// endsWithin bounds a stop (contract: cli.stop-bounded).
const endsWithin = 10 * time.Second

// base is the base configuration, changed.
func base(l *lab.Lab, change func(lab.Config) lab.Config) (c lab.Config, workdir string) {
	GinkgoHelper()
	c, err := l.BaseConfig()
	engine.Harness(err)
	workdir, _ = c["workdir"].(string)
	if change != nil {
		c = change(c)
	}
	return c, workdir
}

// launch starts a sidecar and waits for nothing.
func launch(ctx context.Context, l *lab.Lab, c lab.Config) *target.Process {
	GinkgoHelper()
	p, err := l.Launch(ctx, c, target.Options{})
	Expect(err).NotTo(HaveOccurred(), "launching a sidecar")
	return p
}

// tell sends a signal, which a process that has ended meanwhile doesn't need any more.
func tell(ctx context.Context, p *target.Process, signal syscall.Signal) {
	GinkgoHelper()
	if err := p.Signal(ctx, signal); err != nil {
		Eventually(ctx, p.Exited()).WithTimeout(2*time.Second).Should(BeClosed(), "sending %s: %s", signal, err)
	}
}

// ended waits for the end of a stop.
func ended(ctx context.Context, p *target.Process, after string) target.Exit {
	GinkgoHelper()
	Eventually(ctx, p.Exited()).WithTimeout(endsWithin).Should(BeClosed(), "the end after %s; its log: %s", after, p.Stderr.Tail(10))
	return p.Exit()
}

// entries lists what is in a directory, hidden files included.
func entries(dir string) []string {
	GinkgoHelper()
	found, err := lab.Entries(dir)
	engine.Harness(err)
	return found
}

// nothing wants neither a process nor a directory to be left.
func nothing(ctx context.Context, before lab.Census, workdir, after string) {
	GinkgoHelper()
	attack.Gone(ctx, before, after)
	Expect(entries(workdir)).To(BeEmpty(), "what is left in the workdir after %s", after)
}
