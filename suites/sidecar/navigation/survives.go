package navigation

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// left are URLs that are refused or withheld, one of each kind.
func left(l *lab.Lab, ways []way) []string {
	urls := []string{
		l.PublicURL(0, "/"), "http://localhost:3000/", "//" + siteName + "/", "", "javascript:void 0", "data:text/html,x", "file:///etc/hostname",
		"chrome://version", "about:settings",
	}
	for _, w := range ways {
		urls = append(urls, l.AppURL(goPath(w)))
	}
	return urls
}

// someWays are redirects of each kind.
func someWays() []way {
	return some(byStatus(), "302", "chain", "another-site", "localhost", "endless-page")
}

func survives(l *lab.Lab) {
	for _, o := range openers() {
		// "After a refused or withheld navigation a tab is there, and the app opens in it."
		It(fmt.Sprintf("goes on after each navigation that was refused or withheld by %s", o), engine.Clause("navigation.survives"),
			SpecTimeout(90*time.Second), func(ctx SpecContext) {
				s := attack.Sidecar(ctx, l)
				session := attack.Connect(ctx, s)
				offered(ctx, session, o.tool)
				e := prepare(l, someWays())
				e.control(ctx, session, o)
				open := o.tabs(ctx, session)
				for _, url := range left(l, e.ways) {
					o.open(ctx, session, url)
					did := fmt.Sprintf("after %s with the URL %s", o, shown(url))
					goesOn(ctx, l, session, did)
					o.tidy(ctx, session, open)
				}
				goesOn(ctx, l, attack.Connect(ctx, s), "in a new session afterwards")
				e.control(ctx, session, o)
			})

		// The same: of several at once, too.
		It(fmt.Sprintf("goes on after many navigations at once that were refused or withheld by %s", o), engine.Clause("navigation.survives"),
			SpecTimeout(90*time.Second), func(ctx SpecContext) {
				s := attack.Sidecar(ctx, l)
				e := prepare(l, some(byStatus(), "302", "another-site"))
				sessions := make([]*lab.Session, 3)
				for i := range sessions {
					sessions[i] = attack.Connect(ctx, s)
				}
				offered(ctx, sessions[0], o.tool)
				e.control(ctx, sessions[0], o)
				open := o.tabs(ctx, sessions[0])
				for _, w := range e.ways {
					atOnce(ctx, sessions, o, l.AppURL(goPath(w)))
				}
				for i, session := range sessions {
					goesOn(ctx, l, session, fmt.Sprintf("in session %d afterwards", i+1))
				}
				o.tidy(ctx, sessions[0], open)
				e.control(ctx, sessions[0], o)
			})
	}

	// The same, where a page of the app leads on by itself.
	It("goes on after pages that lead on", engine.Clause("navigation.survives"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		session := attack.Connect(ctx, s)
		e := prepare(l, some(byPage(), "script", "script-redirect", "meta-redirect", "refresh-redirect"))
		o := openers()[0]
		e.control(ctx, session, o)
		for _, w := range e.ways {
			o.open(ctx, session, l.AppURL(goPath(w)))
			e.home(ctx, w, session)
			goesOn(ctx, l, session, "after a page of kind "+w.name)
		}
		e.control(ctx, session, o)
	})

	// The same: and what another session has on screen stays there.
	It("leaves the tab of another session as it is", engine.Clause("navigation.survives"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		session, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		offered(ctx, session, "browser_tabs")
		e := prepare(l, someWays())
		own := openers()[1]
		e.control(ctx, session, own)
		before := len(tabs(ctx, session))
		own.open(ctx, other, l.AppURL("/pages/index.html"))
		mark(ctx, l, other, "other")
		open := len(tabs(ctx, session))
		for _, url := range left(l, e.ways) {
			own.open(ctx, session, url)
			at := where(ctx, other)
			Expect([]string{at.Mark, at.Tab}).To(Equal([]string{"other", "other"}), "the other session's page after %s with the URL %s", own, shown(url))
			tidy(ctx, session, open)
		}
		tidy(ctx, other, before)
		e.control(ctx, session, own)
	})
}

// goesOn wants a tab to be there: a snapshot shows it, and the app opens in it.
func goesOn(ctx context.Context, l *lab.Lab, session *lab.Session, did string) {
	GinkgoHelper()
	result, err := session.Call(ctx, "browser_snapshot", map[string]any{})
	Expect(err).NotTo(HaveOccurred(), "taking a snapshot %s", did)
	Expect(result.Text).To(ContainSubstring("- Page URL: "), "a snapshot %s", did)
	Expect(session.Navigate(ctx, l.AppURL("/pages/about.html"))).To(Succeed(), "opening the app %s", did)
	Expect(where(ctx, session)).To(HaveField("Href", l.AppURL("/pages/about.html")), "where the tab is %s", did)
}

// atOnce opens a URL in every session at the same time.
func atOnce(ctx context.Context, sessions []*lab.Session, o opener, url string) {
	GinkgoHelper()
	errs := make(chan error, len(sessions))
	for _, session := range sessions {
		go func() {
			_, err := session.Call(ctx, o.tool, o.arguments(url))
			errs <- err
		}()
	}
	for range sessions {
		Expect(<-errs).NotTo(HaveOccurred(), "%s with the URL %s in several sessions at once", o, shown(url))
	}
}
