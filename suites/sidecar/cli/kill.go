package cli

import (
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
)

// "Within 5 seconds after the sidecar has ended, whatever ended it, SIGKILL included, no Chromium process that it started is
// left."
func orphans(l *lab.Lab) {
	DescribeTable("leaves no browser when it is killed during its start", engine.Clause("cli.no-orphans"),
		func(ctx SpecContext, reached stage) {
			c, workdir := base(l, nil)
			before := l.Census()
			p := launch(ctx, l, c)
			reach(ctx, p, before, workdir, reached)
			browser, there := before.Browser()
			Expect(there).To(BeTrue(), "the browser's first process is there; its log: %s", p.Stderr.Tail(10))
			// Its parent is the sidecar itself, also where another process was started before that one.
			if slices.ContainsFunc(before.Newcomers(), func(p lab.Process) bool { return p.PID == browser.Parent }) {
				kill(browser.Parent)
			} else {
				tell(ctx, p, syscall.SIGKILL)
			}
			attack.Gone(ctx, before, "SIGKILL")
		},
		Entry("once there is a browser", stage(withBrowser)),
		Entry("once there is a renderer", stage(withRenderer)),
	)

	DescribeTable("leaves no browser when it is killed", engine.Clause("cli.no-orphans"),
		func(ctx SpecContext, busy bool, end func(*lab.Sidecar)) {
			before := l.Census()
			s := attack.Start(ctx, l, nil)
			_, there := before.Browser()
			Expect(there).To(BeTrue(), "the browser's first process is there")
			if busy {
				mark(ctx, l, s)
				wait(ctx, l, s, "/busy", `() => {
					new Worker(URL.createObjectURL(new Blob(["for (;;);"])));
					return fetch('/busy').then(() => { for (;;); });
				}`)
			}
			end(s)
			attack.Gone(ctx, before, "the sidecar's end")
		},
		Entry("when it is idle", false, func(s *lab.Sidecar) { kill(s.PID) }),
		Entry("when a page is in an endless loop", true, func(s *lab.Sidecar) { kill(s.PID) }),
		Entry("with its process group", true, func(s *lab.Sidecar) {
			group, err := syscall.Getpgid(s.PID)
			engine.Harness(err)
			if own := syscall.Getpgrp(); group <= 1 || group == own {
				engine.CouldNotRun("the target has no process group of its own")
			}
			kill(-group)
		}),
		Entry("by SIGQUIT", false, func(s *lab.Sidecar) { engine.Harness(syscall.Kill(s.PID, syscall.SIGQUIT)) }),
		Entry("during its stop", true, func(s *lab.Sidecar) {
			engine.Harness(syscall.Kill(s.PID, syscall.SIGTERM))
			kill(s.PID)
		}),
	)
}

func kill(pid int) {
	GinkgoHelper()
	if err := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		engine.Harness(err)
	}
}

// "After a SIGKILL, a start with the same workdir works and shows nothing of the earlier run, and once it has stopped none of
// the earlier run's directories is left either."
func restarts(l *lab.Lab) {
	It("starts afresh after a kill and clears up after both runs", engine.Clause("cli.restart-after-kill"), func(ctx SpecContext) {
		first := attack.Start(ctx, l, nil)
		made, err := first.Entries()
		engine.Harness(err)
		kept := belongings(first.Dir, made)
		session := attack.Connect(ctx, first)
		Expect(session.Navigate(ctx, l.AppURL("/pages/about.html"))).To(Succeed(), "opening the app")
		var there string
		Expect(session.Evaluate(ctx, remember, &there)).To(Succeed(), "storing something")
		Expect(there).To(Equal(remembered), "the control: what the first run stores is there")
		kill(first.PID)
		// At once: whatever of the first run is still ending must not matter.
		second := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("workdir", first.Dir) })
		fresh(ctx, l, second)
		tell(ctx, second.Process, syscall.SIGTERM)
		ended(ctx, second.Process, "SIGTERM")
		Expect(entries(first.Dir)).To(ConsistOf(kept), "what is left in the workdir after a kill, a start and a stop, beside what was there before")
		for _, path := range kept {
			Expect(os.ReadFile(filepath.Join(path, "note"))).To(BeEquivalentTo("mine"), "somebody else's file in the workdir")
		}
	})

	DescribeTable("clears up after starts that were killed", engine.Clause("cli.restart-after-kill"),
		func(ctx SpecContext, reached stage) {
			c, workdir := base(l, nil)
			for range 3 {
				before := l.Census()
				p := launch(ctx, l, c)
				reach(ctx, p, before, workdir, reached)
				tell(ctx, p, syscall.SIGKILL)
				ended(ctx, p, "SIGKILL")
			}
			s, err := l.Start(ctx, c)
			Expect(err).NotTo(HaveOccurred(), "starting after kills")
			attack.Alive(ctx, s)
			tell(ctx, s.Process, syscall.SIGTERM)
			ended(ctx, s.Process, "SIGTERM")
			Expect(entries(workdir)).To(BeEmpty(), "what is left in the workdir after three kills, a start and a stop")
		},
		Entry("once there was a directory", stage(withDirectory)),
		Entry("once there was a profile", stage(withProfile)),
	)
}

// belongings puts somebody else's directories into a workdir, also under names that look like those that a run made.
func belongings(workdir string, made []string) []string {
	GinkgoHelper()
	kept := []string{filepath.Join(workdir, "project"), filepath.Join(workdir, ".hidden")}
	for _, path := range made {
		kept = append(kept, path+"-notes")
	}
	for _, path := range kept {
		engine.Harness(os.Mkdir(path, 0o700))
		engine.Harness(os.WriteFile(filepath.Join(path, "note"), []byte("mine"), 0o600))
	}
	return kept
}

// remember stores a text by every way that outlives a page, and recall tells what is there.
const (
	remembered = "cookie,storage,database,cache"
	remember   = `async () => {
		document.cookie = "earlier=1; max-age=3600; path=/";
		localStorage.setItem("earlier", "1");
		await new Promise((done, fail) => {
			const opening = indexedDB.open("earlier", 1);
			opening.onsuccess = done;
			opening.onerror = fail;
		});
		await (await caches.open("earlier")).put("/earlier", new Response("1"));
		return (` + recall + `)();
	}`
	recall = `async () => [
		document.cookie.includes("earlier") && "cookie",
		localStorage.getItem("earlier") && "storage",
		(await indexedDB.databases()).some(d => d.name === "earlier") && "database",
		await caches.has("earlier") && "cache",
	].filter(Boolean).join()`
)

// fresh wants a run without an earlier run's tab and without what it stored.
func fresh(ctx SpecContext, l *lab.Lab, s *lab.Sidecar) {
	GinkgoHelper()
	session := attack.Connect(ctx, s)
	var at string
	Expect(session.Evaluate(ctx, "() => location.href", &at)).To(Succeed(), "asking where the first tab is")
	Expect(at).To(Or(Equal(l.AppURL("/")), Equal("about:blank")), "where the first tab of the second run is")
	Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app again")
	var there string
	Expect(session.Evaluate(ctx, recall, &there)).To(Succeed(), "asking what is stored")
	Expect(there).To(BeEmpty(), "what of the first run is there in the second")
	Expect(l.Sites.RequestsTo(l.AppAddr().String(), "/pages/about.html")).To(HaveLen(1), "requests for the page that only the first run opened")
}

// "When Chromium dies under a running sidecar, the sidecar says so on stderr, removes its directories and exits non-zero
// within 10 seconds."
func browserGone(l *lab.Lab) {
	DescribeTable("ends when Chromium dies", engine.Clause("cli.browser-gone"),
		func(ctx SpecContext, signal syscall.Signal, waiting bool) {
			before := l.Census()
			s := attack.Start(ctx, l, nil)
			browser, there := before.Browser()
			if !there {
				engine.CouldNotRun("no process of the target looks like Chromium's first")
			}
			calls := make(chan struct{})
			var over <-chan struct{} = calls
			if waiting {
				mark(ctx, l, s)
				over = wait(ctx, l, s, "/waits", "() => fetch('/waits').then(() => new Promise(() => {}))")
			} else {
				close(calls)
			}
			said := len(s.Process.Stderr.String())
			engine.Harness(syscall.Kill(browser.PID, signal))
			after := fmt.Sprintf("%s to Chromium", signal)
			exit := ended(ctx, s.Process, after)
			Expect(exit.Code).NotTo(BeZero(), "the exit code after %s", after)
			// A program's name before each line says nothing.
			log := strings.ReplaceAll(s.Process.Stderr.String()[said:], "browser-sidecar", "")
			Expect(log).To(MatchRegexp("(?i)browser|chrom"), "what the log says after %s", after)
			Eventually(ctx, over).WithTimeout(time.Second).Should(BeClosed(), "the waiting call has an answer or a closed connection")
			nothing(ctx, before, s.Dir, after)
		},
		Entry("killed", syscall.SIGKILL, false),
		Entry("killed while a call waits", syscall.SIGKILL, true),
		Entry("crashed", syscall.SIGSEGV, true),
	)
}
