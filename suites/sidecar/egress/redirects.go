package egress

import (
	"fmt"
	"net/url"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// hops are the paths of a site that lead on to another URL, with a name for each.
func hops(to string) map[string]string {
	quoted := url.QueryEscape(to)
	paths := map[string]string{
		"chain":   "/redirect-chain?n=10&to=" + quoted,
		"refresh": "/refresh?to=" + quoted,
		"meta":    "/meta-refresh?to=" + quoted,
		"script":  "/script-redirect?to=" + quoted,
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		paths[fmt.Sprint(code)] = fmt.Sprintf("/redirect?code=%d&to=%s", code, quoted)
	}
	return paths
}

// inPages tells ways that follow a redirect by status only, from frames, which follow the others too.
func waysOf(kind string) []pages.Way {
	switch kind {
	case "refresh", "meta", "script":
		return []pages.Way{pages.Iframe}
	}
	return []pages.Way{pages.Iframe, pages.FetchNoCORS, pages.Img, pages.Script, pages.Stylesheet, pages.Form, pages.EventSource, pages.Beacon}
}

func redirects(l *lab.Lab) {
	// "A redirect from the app or from a public host never leads to a private destination, whether it is made by a status
	// 301, 302, 303, 307 or 308, a chain of ten, a Refresh header, a meta refresh or a script."
	It("follows no redirect of a page's request to a private destination", engine.Clause("egress.redirect"),
		SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			var targets []pages.Target
			for _, private := range privates() {
				secret := "http://" + lab.Authority(private, lab.CanaryPort) + "/secret"
				for kind, path := range hops(secret) {
					for from, base := range map[string]string{"app": l.AppURL(""), "public": l.PublicURL(1, "")} {
						targets = append(targets, pages.Target{
							Tag: from + "-" + kind + "-" + private.String(), URL: base + path, Ways: waysOf(kind),
						})
					}
				}
			}
			attack.Page(ctx, l, s, targets)
			untouched(ctx, l, s, "opening a page whose requests are redirected to private destinations")
		})

	It("follows redirects to a public destination: the same page's control", engine.Clause("egress.redirect"),
		SpecTimeout(time.Minute), func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			var targets []pages.Target
			for kind, path := range hops(l.PublicURL(2, "/arrival?kind=KIND")) {
				targets = append(targets, pages.Target{Tag: kind, URL: l.PublicURL(1, "") + path, Ways: []pages.Way{pages.Iframe}})
			}
			attack.Page(ctx, l, s, targets)
			Expect(l.Sites.RequestsTo(lab.Authority(l.Public(2), lab.SitePort), "/arrival")).
				To(HaveLen(len(targets)), "arrivals by each kind of redirect at a public destination")
			untouched(ctx, l, s, "opening a page whose requests are redirected to a public destination")
		})

	It("follows no redirect of a navigation to a private destination", engine.Clause("egress.redirect"), SpecTimeout(3*time.Minute),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			session := attack.Connect(ctx, s)
			for _, private := range privates() {
				secret := "http://" + lab.Authority(private, lab.CanaryPort) + "/secret"
				for kind, path := range hops(secret) {
					_, err := session.Call(ctx, "browser_navigate", map[string]any{"url": l.AppURL(path)})
					Expect(err).NotTo(HaveOccurred(), "navigating to a redirect of kind %s to %s", kind, private)
				}
				Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "the control: opening the app afterwards")
			}
			untouched(ctx, l, s, "navigating to pages of the app that redirect to private destinations")
		})
}
