package navigation

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// closedWithin bounds the life of a page that landed where it may not be; silentFor is how long such a page, which tells
// of itself every 100 ms, must have been silent to be gone.
const closedWithin, silentFor = 5 * time.Second, time.Second

func redirectClosed(l *lab.Lab) {
	for _, o := range openers() {
		// "A tab that a redirect takes to another origin is closed as soon as it lands there."
		It(fmt.Sprintf("closes a tab that a redirect takes elsewhere by %s", o), engine.Clause("navigation.redirect-closed"),
			SpecTimeout(90*time.Second), func(ctx SpecContext) {
				s := attack.Sidecar(ctx, l)
				session, watcher := attack.Connect(ctx, s), attack.Connect(ctx, s)
				offered(ctx, session, o.tool)
				e := prepare(l, o.by(byStatus()))
				e.control(ctx, session, o)
				mark(ctx, l, session, "here")
				for _, w := range e.ways {
					open := o.tabs(ctx, session)
					o.open(ctx, session, l.AppURL(goPath(w)))
					Expect(e.asked(w)).To(BeTrue(), "the control: %s asks the app for a redirect of kind %s", o, w.name)
					e.nowhere(ctx, w, session, watcher)
					landed, stayed := len(e.beats(w)) > 0, o.tabs(ctx, session) > open
					o.tidy(ctx, session, open)
					if earlier := mark(ctx, l, session, "here"); !o.inNewTab {
						stayed = earlier != ""
					}
					// Where it never landed it was refused, and a tab that is still there shows nothing of it.
					Expect(landed && stayed).To(BeFalse(), "whether the tab is still there that a redirect of kind %s took elsewhere", w.name)
				}
				e.silent(ctx)
				e.control(ctx, session, o)
			})
	}
}

// nowhere wants no session to see a tab at the other origin.
func (e escape) nowhere(ctx context.Context, w way, sessions ...*lab.Session) {
	GinkgoHelper()
	for i, session := range sessions {
		lines := tabs(ctx, session)
		result, err := session.Call(ctx, "browser_snapshot", map[string]any{})
		Expect(err).NotTo(HaveOccurred(), "taking a snapshot after a way of kind %s", w.name)
		for line := range strings.Lines(result.Text) {
			if strings.HasPrefix(line, "- Page URL: ") {
				lines = append(lines, line)
			}
		}
		if shown := slices.IndexFunc(lines, func(line string) bool {
			return strings.Contains(line, secret) || strings.Contains(line, siteName)
		}); shown >= 0 {
			engine.Fail(fmt.Sprintf("looking for the other page in session %d after a way of kind %s", i+1, w.name),
				[]string{"no tab there"}, lines[shown])
		}
		if strings.Contains(result.Text, secret) {
			engine.Fail(fmt.Sprintf("taking a snapshot in session %d after a way of kind %s", i+1, w.name),
				[]string{"nothing of the other page"}, result.Text)
		}
	}
}

// gone waits until the page that a way led to tells no more that it lives.
func (e escape) gone(ctx context.Context, w way) {
	GinkgoHelper()
	began := time.Now()
	Eventually(ctx, func() time.Duration {
		if beats := e.beats(w); len(beats) > 0 {
			return time.Since(beats[len(beats)-1])
		}
		return time.Since(began)
	}).WithTimeout(closedWithin+silentFor).WithPolling(20*time.Millisecond).Should(BeNumerically(">", silentFor),
		"for how long the page has been silent that a redirect of kind %s led to", w.name)
}

// silent wants every other page to be gone, and none to have lived for long.
func (e escape) silent(ctx context.Context) {
	GinkgoHelper()
	for _, w := range e.ways {
		if beats := e.beats(w); len(beats) > 0 {
			e.gone(ctx, w)
			beats = e.beats(w)
			Expect(beats[len(beats)-1].Sub(beats[0])).To(BeNumerically("<=", closedWithin), "how long the page lived that a redirect of kind %s led to", w.name)
		}
	}
}

func resultWithheld(l *lab.Lab) {
	for _, o := range openers() {
		for _, row := range []struct {
			does, did string
			ways      []way
			led       bool // the call itself leads there
		}{
			// "The tool call that led to another origin is an error, and nothing of that page is in it: no text, title, path, query
			// or screenshot."
			{"tells nothing of the page that a redirect led to", "a redirect", o.by(byStatus()), true},
			// The same, where a page of the app comes first: the call may end before that page leads on.
			{"tells nothing of where a page leads on to", "a page", o.by(byPage()), false},
		} {
			It(fmt.Sprintf("%s by %s", row.does, o), engine.Clause("navigation.result-withheld"), SpecTimeout(90*time.Second),
				func(ctx SpecContext) {
					session := attack.Connect(ctx, attack.Sidecar(ctx, l))
					offered(ctx, session, o.tool)
					e := prepare(l, row.ways)
					e.control(ctx, session, o)
					open := o.tabs(ctx, session)
					for _, w := range e.ways {
						result := o.open(ctx, session, l.AppURL(goPath(w)))
						e.withheld(w, fmt.Sprintf("%s with %s of kind %s", o, row.did, w.name), result, row.led)
						e.next(ctx, w, session)
						o.tidy(ctx, session, open)
					}
					e.control(ctx, session, o)
				})
		}
	}

	// The same, of calls that lead there from a page.
	It("tells nothing of the page that a click or a script led to", engine.Clause("navigation.result-withheld"),
		SpecTimeout(90*time.Second), func(ctx SpecContext) {
			session := attack.Connect(ctx, attack.Sidecar(ctx, l))
			e := prepare(l, some(byStatus(), "302", "chain", "another-site", "slow", "localhost"))
			engine.Harness(l.Sites.Handle(l.AppAddr().String(), "/links", links(e.ways)))
			e.control(ctx, session, openers()[0])
			for _, w := range e.ways {
				for tool, args := range map[string]map[string]any{
					"browser_click": {"target": "#go-" + w.name},
					// It is under way until the page has gone.
					"browser_evaluate": {"function": `() => { location = '` + goPath(w) + `'; return new Promise(r => setTimeout(() => r(document.title), 3000)) }`},
				} {
					did := fmt.Sprintf("%s to a redirect of kind %s", tool, w.name)
					Expect(session.Navigate(ctx, l.AppURL("/links"))).To(Succeed(), "opening the app")
					var done bool
					Expect(session.Evaluate(ctx, `() => { sessionStorage.setItem('tab', 'here'); return true }`, &done)).To(Succeed(), "marking the tab")
					before := len(e.beats(w))
					result, err := session.Call(ctx, tool, args)
					Expect(err).NotTo(HaveOccurred(), did)
					landed := len(e.beats(w)) > before
					e.next(ctx, w, session)
					// A tab that was closed had been led elsewhere; where it is still there, the redirect was refused.
					e.withheld(w, did, result, landed || where(ctx, session).Tab == "")
				}
			}
			e.control(ctx, session, openers()[0])
		})
}

// withheld wants nothing of the other page in a result, and an error where the call led there.
func (e escape) withheld(w way, did string, result *lab.ToolResult, led bool) {
	GinkgoHelper()
	if i := strings.Index(string(result.Raw), secret); i >= 0 {
		engine.Fail(did, []string{"nothing of the other page"}, string(result.Raw))
	}
	if led && !result.IsError {
		engine.Fail(did, []string{"an error"}, result.Text)
	}
	Expect(e.asked(w)).To(BeTrue(), "the control: %s asks the app for it", did)
}

// next wants nothing of the other page in the calls that follow either, and opens the app again.
func (e escape) next(ctx context.Context, w way, session *lab.Session) {
	GinkgoHelper()
	e.nowhere(ctx, w, session)
	e.home(ctx, w, session)
}

// home opens the app. Where a page leads on late, this may be the call that it leads elsewhere, and then the next one opens
// the app.
func (e escape) home(ctx context.Context, w way, session *lab.Session) {
	GinkgoHelper()
	url := e.l.AppURL("/pages/about.html")
	if w.late {
		result := openers()[0].open(ctx, session, url)
		Expect(result.Text).NotTo(ContainSubstring(secret), "opening the app after a way of kind %s", w.name)
		if !result.IsError {
			return
		}
	}
	Expect(session.Navigate(ctx, url)).To(Succeed(), "opening the app after a way of kind %s", w.name)
}

// links is a page with a link for each way.
func links(ways []way) http.HandlerFunc {
	page := leaving
	for _, w := range ways {
		page += fmt.Sprintf(`<p><a id="go-%s" href=%q>%s</a>`, w.name, goPath(w), w.name)
	}
	return attack.HTML(http.StatusOK, page)
}
