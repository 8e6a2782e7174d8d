package cli

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

func usage(l *lab.Lab) {
	// "--version prints one line with the version and exits 0. It is the version that GET /health and the ready line report."
	It("prints the version that it reports", engine.Clause("cli.version"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p, exit := finish(ctx, l, "--version")
		Expect(exit.Code).To(Equal(0), "the exit of --version: %s", exit)
		Expect(p.Stdout.String()).To(Equal(s.Version+"\n"), "what --version prints, beside the ready line's version")
		answer := attack.Accepted(ctx, s, "asking for the health", s.Get("/health"))
		var health struct{ Version string }
		Expect(json.Unmarshal(answer.Body, &health)).To(Succeed(), "reading the health: %s", answer)
		Expect(health.Version+"\n").To(Equal(p.Stdout.String()), "what --version prints, beside the version in /health")
	})

	// "An unknown command or an unknown option makes the command exit non-zero with usage on stderr and nothing on stdout."
	DescribeTable("explains its usage when it is called wrongly", engine.Clause("cli.usage"),
		func(ctx SpecContext, args ...string) {
			p, exit := finish(ctx, l, args...)
			Expect(exit.Code).NotTo(Equal(0), "the exit of %q", args)
			Expect(exit.Signal).To(BeZero(), "the signal that ended %q", args)
			Expect(p.Stdout.String()).To(BeEmpty(), "what %q prints on stdout", args)
			Expect(p.Stderr.String()).To(ContainSubstring("serve"), "the usage that %q prints on stderr", args)
			control, exit := finish(ctx, l, "--version")
			Expect(exit.Code).To(Equal(0), "the control, --version: %s", control.Stderr)
		},
		Entry("with an unknown command", "frobnicate"),
		Entry("with an unknown option", "--frobnicate"),
		Entry("with an unknown option of serve", "serve", "--frobnicate"),
		Entry("with an unknown short option of serve", "serve", "-Z"),
		Entry("with an unknown option of check", "check", "--frobnicate"),
		Entry("with an unknown option beside a known one", "--version", "--frobnicate"),
	)
}

// finish runs the target's command with a valid configuration on stdin, until it ends by itself.
func finish(ctx SpecContext, l *lab.Lab, args ...string) (*target.Process, target.Exit) {
	GinkgoHelper()
	c, err := l.BaseConfig()
	engine.Harness(err)
	stdin, err := c.JSON()
	engine.Harness(err)
	p, err := l.Run(ctx, target.Options{Args: args, Stdin: stdin})
	Expect(err).NotTo(HaveOccurred(), "running %q", args)
	exit, err := p.Wait(ctx)
	Expect(err).NotTo(HaveOccurred(), "waiting for %q to end", args)
	return p, exit
}
