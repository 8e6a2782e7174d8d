// Package cli proves how the sidecar's command starts, speaks and stops.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	Describe("cli", func() {
		ready(l)
		usage(l)
		stops(l)
	})
}

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

func stops(l *lab.Lab) {
	// "Each of SIGTERM, SIGINT and SIGHUP makes the sidecar close the browser, post what it has recorded, remove its
	// directories and exit 0."
	DescribeTable("stops cleanly on a signal", engine.Clause("cli.signal-stop"),
		func(ctx SpecContext, signal syscall.Signal) {
			s := attack.Start(ctx, l, nil)
			session := attack.Connect(ctx, s)
			Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
			tree := s.Tree()
			Expect(len(tree)).To(BeNumerically(">", 1), "the sidecar's processes: its own and the browser's")
			exit, err := s.Stop(ctx, signal)
			Expect(err).NotTo(HaveOccurred(), "waiting for the end after %s", signal)
			Expect(exit).To(Equal(target.Exit{}), "the exit after %s", signal)
			Eventually(ctx, func() []int { return lab.StillRunning(tree) }).WithTimeout(5*time.Second).
				Should(BeEmpty(), "processes that are left after %s", signal)
			Expect(s.Entries()).To(BeEmpty(), "what is left in the workdir after %s", signal)
		},
		Entry("SIGTERM", syscall.SIGTERM),
		Entry("SIGINT", syscall.SIGINT),
		Entry("SIGHUP", syscall.SIGHUP),
	)

	// "The profile, upload and output directories are made under workdir … They are open to nobody but the sidecar's user
	// (mode 0700), and after a stop they are gone."
	It("keeps its directories private and removes them", engine.Clause("cli.dirs-removed"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		entries, err := s.Entries()
		engine.Harness(err)
		Expect(entries).NotTo(BeEmpty(), "the directories under workdir while the sidecar runs")
		Expect(open(s.Dir)).To(BeEmpty(), "what others may open under workdir while the sidecar runs, with its mode")
		if profile := s.ProfileDir(); profile != "" {
			Expect(profile).To(HavePrefix(s.Dir+"/"), "Chromium's profile directory")
		}
		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		Expect(open(s.Dir)).To(BeEmpty(), "what others may open under workdir when the sidecar has worked, with its mode")
		exit, err := s.Stop(ctx, syscall.SIGTERM)
		Expect(err).NotTo(HaveOccurred(), "stopping the sidecar")
		Expect(exit.Code).To(Equal(0), "the exit: %s", exit)
		Expect(s.Entries()).To(BeEmpty(), "what is left under workdir after the stop")
		Expect(s.Dir).To(BeADirectory(), "the workdir itself, which the configuration named")
	})

	// "… or under a temporary directory when it is unset."
	It("removes the temporary directory that it makes without a workdir", engine.Clause("cli.dirs-removed"), func(ctx SpecContext) {
		c, err := l.BaseConfig()
		engine.Harness(err)
		temp, _ := c["workdir"].(string)
		s, err := l.StartWith(ctx, c.With("workdir", nil), target.Options{Env: []string{"TMPDIR=" + temp}})
		Expect(err).NotTo(HaveOccurred(), "starting without a workdir")
		s.Dir = temp
		entries, err := s.Entries()
		engine.Harness(err)
		if len(entries) == 0 {
			engine.CouldNotRun("the target makes its directories somewhere that TMPDIR doesn't name")
		}
		Expect(open(temp)).To(BeEmpty(), "what others may open in the temporary directory while the sidecar runs, with its mode")
		if profile := s.ProfileDir(); profile != "" {
			Expect(profile).To(HavePrefix(temp+"/"), "Chromium's profile directory")
		}
		exit, err := s.Stop(ctx, syscall.SIGTERM)
		Expect(err).NotTo(HaveOccurred(), "stopping the sidecar")
		Expect(exit.Code).To(Equal(0), "the exit: %s", exit)
		Expect(s.Entries()).To(Or(BeEmpty(), HaveEach(Satisfy(chromiums))), "what is left in the temporary directory after the stop")
	})
}

// open lists what another user may read below a directory that is open itself, with its mode. How directories are nested
// is free: one that is closed (mode 0700) closes all that is below it, and one that only holds closed ones needs no mode.
func open(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", filepath.Base(dir), err)
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist) || chromiums(path):
		case err != nil:
			return nil, fmt.Errorf("reading the mode of %s: %w", e.Name(), err)
		case info.IsDir() && info.Mode().Perm() == 0o700 || !info.IsDir() && info.Mode().Perm()&0o077 == 0:
		case info.IsDir():
			below, err := os.ReadDir(path)
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", e.Name(), err)
			}
			if len(below) == 0 || slices.ContainsFunc(below, func(d os.DirEntry) bool { return !d.IsDir() }) {
				found = append(found, info.Mode().String()+" "+e.Name())
				continue
			}
			deeper, err := open(path)
			if err != nil {
				return nil, err
			}
			found = append(found, deeper...)
		default:
			found = append(found, info.Mode().String()+" "+e.Name())
		}
	}
	return found, nil
}

// chromiums tells what Chromium itself puts into a temporary directory: no directory of the sidecar's.
func chromiums(path string) bool {
	return strings.Contains(filepath.Base(path), "org.chromium.Chromium.")
}
