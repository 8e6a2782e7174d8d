package egress

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// codes are the statuses that redirect.
func codes() []int { return []int{301, 302, 303, 307, 308} }

// byStatus are the paths of a site that redirect to another URL by a status, once or ten times; a name for each.
func byStatus(to string) map[string]string {
	quoted := url.QueryEscape(to)
	paths := map[string]string{"chain": "/redirect-chain?n=10&to=" + quoted}
	for _, code := range codes() {
		paths[fmt.Sprint(code)] = fmt.Sprintf("/redirect?code=%d&to=%s", code, quoted)
	}
	return paths
}

// byPage are those that lead there from a page that has loaded.
func byPage(to string) map[string]string {
	quoted := url.QueryEscape(to)
	return map[string]string{
		"refresh": "/refresh?to=" + quoted, "meta": "/meta-refresh?to=" + quoted, "script": "/script-redirect?to=" + quoted,
	}
}

// secret is a URL at a private address that a redirect leads to.
func secret(i int) string {
	return "http://" + lab.Authority(privates()[i], lab.CanaryPort) + "/secret"
}

func redirects(l *lab.Lab) {
	// "A redirect from the app or from a public host never leads to a private destination, whether it is made by a status
	// 301, 302, 303, 307 or 308, a chain of ten …"
	It("follows no redirect of a page's request to a private destination", engine.Clause("egress.redirect"),
		SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			ways := []pages.Way{
				pages.Iframe, pages.FetchNoCORS, pages.Img, pages.Script, pages.Stylesheet, pages.Form, pages.EventSource, pages.Beacon,
			}
			targets := []pages.Target{{Tag: "public", URL: l.PublicURL(1, byStatus(l.PublicURL(2, "/arrival"))["307"]), Ways: ways}}
			for i, private := range privates() {
				for kind, path := range byStatus(secret(i)) {
					for from, base := range map[string]string{"app": l.AppURL(""), "public": l.PublicURL(1, "")} {
						targets = append(targets, pages.Target{Tag: from + "-" + kind + "-" + private.String(), URL: base + path, Ways: ways})
					}
				}
			}
			attack.Page(ctx, l, s, targets)
			Eventually(ctx, func() int { return arrivals(l) }).WithTimeout(5*time.Second).Should(BeNumerically(">=", len(ways)),
				"the control: the page's requests that are redirected to a public destination arrive there")
			for _, t := range targets {
				Expect(t.Ways).To(ContainElement(Satisfy(func(way pages.Way) bool { return attack.Arrived(l, t.Tag, way) })),
					"the control: the page asks for %s by one of its ways", t.URL)
			}
			untouched(ctx, l, s, "opening a page whose requests are redirected to private destinations")
		})

	// "… a Refresh header, a meta refresh or a script."
	It("follows no page of a frame to a private destination", engine.Clause("egress.redirect"), SpecTimeout(time.Minute),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			var urls []string
			for i := range privates() {
				for _, path := range byPage(secret(i)) {
					urls = append(urls, l.AppURL(path), l.PublicURL(1, path))
				}
			}
			hops := len(urls)
			// Last, so that the others have had their turn when these have arrived.
			controls := byPage(l.PublicURL(2, "/arrival"))
			for _, path := range controls {
				urls = append(urls, l.PublicURL(1, path))
			}
			session := attack.Frames(ctx, l, s, urls, 0)
			Eventually(ctx, func() int { return arrivals(l) }).WithTimeout(15*time.Second).Should(Equal(len(controls)),
				"the control: frames that lead on to a public destination arrive there")
			Eventually(ctx, func() int { return leading(l) }).WithTimeout(15*time.Second).Should(Equal(hops+len(controls)),
				"the frames' own pages, each of which is loaded")
			leadOn(ctx, session)
			untouched(ctx, l, s, "opening a page whose frames lead on to private destinations")
		})

	It("follows no redirect of a navigation to a private destination", engine.Clause("egress.redirect"), SpecTimeout(2*time.Minute),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			session := attack.Connect(ctx, s)
			for i, private := range privates() {
				navigate := func(kind, path string) {
					GinkgoHelper()
					_, err := session.Call(ctx, "browser_navigate", map[string]any{"url": l.AppURL(path)})
					Expect(err).NotTo(HaveOccurred(), "navigating to a redirect of kind %s to %s", kind, private)
					Expect(asked(l, path)).To(BeTrue(), "the control: the app is asked for a redirect of kind %s to %s", kind, private)
				}
				for kind, path := range byStatus(secret(i)) {
					navigate(kind, path)
				}
				for kind, path := range byPage(secret(i)) {
					navigate(kind, path)
					leadOn(ctx, session)
				}
				Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "the control: opening the app afterwards")
			}
			Expect(session.Navigate(ctx, l.AppURL("/redirect?code=302&to="+url.QueryEscape(l.AppURL("/pages/about.html"))))).
				To(Succeed(), "the control: a redirect within the app")
			untouched(ctx, l, s, "navigating to pages of the app that redirect to private destinations")
		})
}

// asked tells whether the app was asked for a path.
func asked(l *lab.Lab, path string) bool {
	return slices.ContainsFunc(l.Sites.Requests(), func(r app.Request) bool {
		return r.Listener == l.AppAddr() && r.Target == path
	})
}

// leadOn gives a page that has loaded the time to lead on by itself, which the next navigation would take away.
func leadOn(ctx context.Context, session *lab.Session) {
	// The page may go, and the evaluation with it: that is no fault.
	_ = session.Evaluate(ctx, "() => new Promise(resolve => setTimeout(() => resolve(true), 500))", new(bool))
}

// arrivals counts the requests at the public destination of the controls.
func arrivals(l *lab.Lab) int {
	return len(l.Sites.RequestsTo(lab.Authority(l.Public(2), lab.SitePort), "/arrival"))
}

// leading counts the requests for pages that lead on.
func leading(l *lab.Lab) int {
	n := 0
	for _, path := range []string{"/refresh", "/meta-refresh", "/script-redirect"} {
		n += len(l.Sites.RequestsTo("", path))
	}
	return n
}
