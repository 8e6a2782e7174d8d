package config

import (
	"errors"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/lab/display"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// windowWithin bounds the time from the ready line to the browser's window.
const windowWithin = 10 * time.Second

func mode(l *lab.Lab) {
	// "With mode headless no window is shown. With headed a window opens on the display …"
	It("shows a window when it is headed, and none when it is headless", engine.Clause("config.mode"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		d := screen(ctx)
		headless := onDisplay(ctx, l, d, "headless")
		worksOn(ctx, l, headless)
		Expect(d.Windows()).To(BeEmpty(), "the windows on the display of a headless sidecar that has opened pages")

		headed := onDisplay(ctx, l, d, "headed")
		shows(ctx, d, "a headed sidecar")
		worksOn(ctx, l, headed)
		Expect(d.Windows()).NotTo(BeEmpty(), "the windows on the display of a headed sidecar that has opened pages")
		engine.Harness(headed.Remove(ctx))
		Eventually(ctx, d.Windows).WithTimeout(windowWithin).Should(BeEmpty(), "the windows that are left once the headed sidecar is gone")
		attack.Alive(ctx, headless)
	})

	// "… headless …" is what a configuration without mode means.
	It("shows no window by itself", engine.Clause("config.defaults"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		d := screen(ctx)
		s := smallest(ctx, l, displayEnv(d.Name))
		worksOn(ctx, l, s)
		Expect(d.Windows()).To(BeEmpty(), "the windows on the display of a sidecar without mode that has opened pages")
		onDisplay(ctx, l, d, "headed")
		shows(ctx, d, "the control, a headed sidecar")
	})

	// "… and without a display the start fails, non-zero, with a message that says that one is missing."
	DescribeTable("fails without a display when it is headed", engine.Clause("config.mode"),
		func(ctx SpecContext, name string) {
			before := l.Census()
			c, err := l.BaseConfig()
			engine.Harness(err)
			c = c.With("mode", "headed")
			text, err := c.JSON()
			engine.Harness(err)
			p, err := l.Run(ctx, target.Options{Stdin: text, Env: displayEnv(name)})
			Expect(err).NotTo(HaveOccurred(), "starting without a display")
			_, err = p.ReadyLine(ctx, endWithin)
			var died *target.DiedError
			if !errors.As(err, &died) {
				engine.Fail(fmt.Sprintf("starting headed with DISPLAY=%q, where no display is", name), []string{"an exit code other than 0"},
					fmt.Sprintf("stdout %q, stderr %q (%v)", p.Stdout, p.Stderr.Tail(5), err))
			}
			Expect(died.Exit.Code).NotTo(Equal(0), "the exit of a headed start with DISPLAY=%q", name)
			Expect(p.Stdout.String()).To(BeEmpty(), "what a headed start with DISPLAY=%q prints on stdout", name)
			Expect(p.Stderr.String()).To(MatchRegexp("(?i)display"), "what a headed start with DISPLAY=%q says on stderr", name)
			dir, _ := c["workdir"].(string)
			Expect(os.ReadDir(dir)).To(BeEmpty(), "what a headed start with DISPLAY=%q leaves in the workdir", name)
			attack.Gone(ctx, before, fmt.Sprintf("a headed start with DISPLAY=%q", name))
			accepted(ctx, l, "mode headless, the control", c.With("mode", "headless"))
		},
		Entry("that is named", ""),
		Entry("where one is named", "127.0.0.1:59"),
	)
}

// screen is a display of the spec's own.
func screen(ctx SpecContext) *display.Display {
	GinkgoHelper()
	d, err := display.Start(ctx)
	if errors.Is(err, display.ErrMissing) {
		engine.CouldNotRun("no display can be offered: %v", err)
	}
	engine.Harness(err)
	DeferCleanup(func() error { return d.Close() })
	return d
}

// displayEnv leads a sidecar to a display, or away from every one.
func displayEnv(name string) []string {
	return []string{"DISPLAY=" + name, "WAYLAND_DISPLAY=", "XDG_RUNTIME_DIR="}
}

func onDisplay(ctx SpecContext, l *lab.Lab, d *display.Display, mode string) *lab.Sidecar {
	GinkgoHelper()
	c, err := l.BaseConfig()
	engine.Harness(err)
	s, err := l.StartWith(ctx, c.With("mode", mode), target.Options{Env: displayEnv(d.Name)})
	Expect(err).NotTo(HaveOccurred(), "starting with mode %s and a display", mode)
	return s
}

// shows wants a window of a size that a person can work with.
func shows(ctx SpecContext, d *display.Display, who string) {
	GinkgoHelper()
	Eventually(ctx, d.Windows).WithTimeout(windowWithin).Should(ContainElement(And(
		HaveField("Width", BeNumerically(">=", 400)), HaveField("Height", BeNumerically(">=", 300)),
	)), "the windows on the display of "+who)
}

// worksOn opens a page of the app and a popup.
func worksOn(ctx SpecContext, l *lab.Lab, s *lab.Sidecar) {
	GinkgoHelper()
	session := attack.Connect(ctx, s)
	Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
	var opened bool
	Expect(session.Evaluate(ctx, "() => { window.open('/pages/about.html', 'popup', 'width=500,height=400'); return true }", &opened)).
		To(Succeed(), "opening a popup")
}
