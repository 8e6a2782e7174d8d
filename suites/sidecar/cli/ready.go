package cli

import (
	"encoding/json"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

func ready(l *lab.Lab) {
	// "serve reads its configuration from stdin to its end, or from the file that --config-file PATH names, and once it
	// accepts connections it prints exactly one line on stdout: a JSON object with ready (true), port, version and pid.
	// Nothing else is ever written to stdout."
	It("prints one ready line and nothing else on stdout", engine.Clause("cli.ready-line"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		judge(ctx, l, s)
	})

	// "… or from the file that --config-file PATH names …"
	It("reads its configuration from a file", engine.Clause("cli.ready-line"), func(ctx SpecContext) {
		c, err := l.BaseConfig()
		engine.Harness(err)
		path, err := l.ConfigFile(c)
		engine.Harness(err)
		s, err := l.StartWith(ctx, c, target.Options{Args: []string{"serve", "--config-file", path}})
		Expect(err).NotTo(HaveOccurred(), "starting with --config-file")
		judge(ctx, l, s)
	})

	// "With port 0 the sidecar listens on a free port of its choice, and the ready line names that port."
	It("picks a free port and names it", engine.Clause("cli.port-zero"), func(ctx SpecContext) {
		first := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("port", 0) })
		second := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("port", 0) })
		Expect(first.Port).NotTo(Equal(second.Port), "the ports of two sidecars at once")
		for _, s := range []*lab.Sidecar{first, second} {
			attack.Accepted(ctx, s, "asking at the port that the ready line names", s.Get("/health"))
			listeners, err := s.Listeners()
			engine.Harness(err)
			var ports []int
			for _, at := range listeners {
				ports = append(ports, int(at.Addr.Port()))
			}
			Expect(ports).To(ContainElement(s.Port), "the ports that the sidecar's processes listen on")
		}
	})
}

// judge checks the ready line's shape, that the sidecar answers at once, and that stdout stays silent to the end.
func judge(ctx SpecContext, l *lab.Lab, s *lab.Sidecar) {
	GinkgoHelper()
	attack.Accepted(ctx, s, "asking for the health as soon as the line is there", s.Get("/health"))
	// The keys are read as they are written: a struct's would match in any case.
	var line map[string]any
	Expect(json.Unmarshal([]byte(s.Ready), &line)).To(Succeed(), "reading the ready line %q", s.Ready)
	Expect(line).To(HaveKeyWithValue("ready", true), "ready in %q", s.Ready)
	Expect(line).To(HaveKeyWithValue("version", And(BeAssignableToTypeOf(""), Not(BeEmpty()))), "version in %q", s.Ready)
	Expect(line).To(HaveKeyWithValue("port", BeNumerically("==", s.Port)), "port in %q", s.Ready)
	Expect(line).To(HaveKeyWithValue("pid", BeNumerically(">", 0)), "pid in %q", s.Ready)
	Expect(lab.Running(s.PID)).To(BeTrue(), "the process that pid in %q names", s.Ready)

	// Work makes a chatty program chatty: a page that logs, a refused request, a broken call.
	session := attack.Connect(ctx, s)
	Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
	var logged bool
	Expect(session.Evaluate(ctx, "() => { console.log('out'); console.error('err'); return true }", &logged)).To(Succeed(), "logging in the page")
	_, err := s.Do(ctx, s.Get("/nowhere").Without("Authorization"))
	Expect(err).NotTo(HaveOccurred(), "a refused request")
	exit, err := s.Stop(ctx, syscall.SIGTERM)
	Expect(err).NotTo(HaveOccurred(), "stopping the sidecar")
	Expect(exit.Code).To(Equal(0), "the exit after SIGTERM: %s", exit)
	Expect(s.Process.Stdout.String()).To(Equal(s.Ready+"\n"), "all that was ever written to stdout")
}
