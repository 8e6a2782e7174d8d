package navigation

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// refusedWithin bounds a refusal, which depends on nothing that a page does.
const refusedWithin = 5 * time.Second

// trial is an opener in a session whose tab shows a marked page of the app.
type trial struct {
	l       *lab.Lab
	o       opener
	origin  string
	session *lab.Session
	witness *witness
}

// try begins with a page of the app.
func try(ctx context.Context, l *lab.Lab, o opener) trial {
	GinkgoHelper()
	s := attack.Sidecar(ctx, l)
	session := attack.Connect(ctx, s)
	offered(ctx, session, o.tool)
	mark(ctx, l, session, "before")
	return trialIn(ctx, l, s, session, o, l.AppAddr().String())
}

func trialIn(ctx context.Context, l *lab.Lab, s *lab.Sidecar, session *lab.Session, o opener, app string) trial {
	GinkgoHelper()
	return trial{l: l, o: o, origin: "http://" + app, session: session, witness: newWitness(ctx, l, s, app)}
}

// refuses wants each URL to be refused: by an error that names the app's origin, at once, and with the page, the tabs and
// the network as they were.
func (t trial) refuses(ctx context.Context, g group) {
	GinkgoHelper()
	did := fmt.Sprintf("%s with %s: %s", t.o, g.kind, quoted(g.urls))
	open, requests := tabs(ctx, t.session), len(t.witness.atApp())
	for _, url := range g.urls {
		t.refused(ctx, url)
	}
	Expect(tabs(ctx, t.session)).To(Equal(open), "the tabs after %s", did)
	Expect(where(ctx, t.session)).To(HaveField("Mark", "before"), "the page's mark after %s", did)
	t.witness.nothingLeft(ctx, requests, did)
}

// opens wants the tool to open each URL, given with the place where that is. It is the control of what is refused.
func (t trial) opens(ctx context.Context, places map[string]string) {
	GinkgoHelper()
	for url, href := range places {
		Expect(t.o.opened(ctx, t.session, url)).To(HaveField("Href", href), "the control: where %s with the URL %s leads", t.o, shown(url))
	}
	// What was asked for a moment late would have come by now.
	t.witness.nothingLeft(ctx, -1, "opening the app")
}

func (t trial) refused(ctx context.Context, url string) {
	GinkgoHelper()
	within, cancel := context.WithTimeout(ctx, refusedWithin)
	defer cancel()
	result := t.o.open(within, t.session, url)
	if !result.IsError || !names(result.Text, t.origin, url) {
		engine.Fail(fmt.Sprintf("%s with the URL %s", t.o, shown(url)), []string{"an error that names " + t.origin}, fmt.Sprintf("error: %v, %.400q", result.IsError, result.Text))
	}
}

// names tells whether a text names an origin beside what it quotes of the agent's own words.
func names(text, origin, own string) bool {
	quoted := 0
	if strings.Contains(text, own) {
		quoted = strings.Count(own, origin)
	}
	return strings.Count(text, origin) > quoted
}

func quoted(urls []string) string {
	shownURLs := make([]string, len(urls))
	for i, url := range urls {
		shownURLs[i] = shown(url)
	}
	return strings.Join(shownURLs, ", ")
}

func appOnly(l *lab.Lab) {
	for _, o := range openers() {
		// "… open only the app's origin and `about:blank`. Everything else is an error that names the app's origin, and no
		// request leaves: another host, port or scheme, `localhost` for `127.0.0.1`, `//host`, `/\host`, `http:/host`, `app@host`,
		// `host.app`, `file:`, `data:`, `javascript:`, `chrome:`, `view-source:`, `blob:`, an empty URL, and spellings with tabs,
		// line breaks, backslashes or encoded delimiters that a browser would read as another host."
		It(fmt.Sprintf("opens the app and about:blank and refuses everything else by %s", o), engine.Clause("navigation.app-only"),
			SpecTimeout(90*time.Second), func(ctx SpecContext) {
				t := try(ctx, l, o)
				page := t.origin + "/pages/about.html"
				t.opens(ctx, map[string]string{
					page: page, t.origin: t.origin + "/", page + "?to=//pub.test/&b=@c#d/e": page + "?to=//pub.test/&b=@c#d/e",
					"HTTP" + strings.TrimPrefix(page, "http"): page, "about:blank": "about:blank",
				})
				mark(ctx, l, t.session, "before")
				for _, g := range foreign(l, t.witness.s.Port) {
					t.refuses(ctx, g)
				}
				t.opens(ctx, map[string]string{page: page})
			})

		// The same: a URL that a browser reads as the app's, although others might not, leads to the app or is refused.
		It(fmt.Sprintf("opens nothing else by odd spellings of the app and %s", o), engine.Clause("navigation.app-only"),
			SpecTimeout(90*time.Second), func(ctx SpecContext) {
				t := try(ctx, l, o)
				for _, url := range readAsApp(l) {
					if o.open(ctx, t.session, url).IsError {
						continue
					}
					at := where(ctx, t.session)
					Expect(at.Origin == t.origin || strings.HasPrefix(at.Href, "about:blank")).
						To(BeTrue(), "where %s with the URL %s leads: %s", o, shown(url), at.Href)
					o.put(ctx, t.session)
					t.witness.nothingLeft(ctx, -1, fmt.Sprintf("%s with the URL %s", o, shown(url)))
				}
				t.witness.nothingLeft(ctx, -1, fmt.Sprintf("%s with the URLs %s", o, quoted(readAsApp(l))))
				mark(ctx, l, t.session, "after")
			})
	}

	// "Everything else is an error that names the app's origin …": of an app that has a name.
	It("tells the app's name from others", engine.Clause("navigation.app-only"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		const name = "kiosk." + lab.PublicName
		app := fmt.Sprintf("%s:%d", name, l.AppAddr().Port())
		engine.Harness(l.DNS.Set(name, dns.Answer(l.AppAddr().Addr())))
		s := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("app_url", "http://"+app) })
		session := attack.Connect(ctx, s)
		for _, o := range openers() {
			offered(ctx, session, o.tool)
			t := trialIn(ctx, l, s, session, o, app)
			page := t.origin + "/pages/about.html"
			t.opens(ctx, map[string]string{page: page, "Http://KIOSK.Pub.Test:3000/pages/about.html": page})
			var done bool
			Expect(session.Navigate(ctx, page)).To(Succeed(), "opening the app")
			Expect(session.Evaluate(ctx, "() => { window.mark = 'before'; return true }", &done)).To(Succeed(), "marking the page")
			t.refuses(ctx, group{"another name", []string{
				"http://127.0.0.1:3000/", "http://localhost:3000/", "http://" + name + "/", "https://" + app + "/", "http://" + app + "0/",
				"http://" + name + ".:3000/", "http://www." + app + "/", "http://kiosk:3000/", "http://xkiosk." + lab.PublicName + ":3000/",
				"http://" + name + "x:3000/", "http://" + name + "." + lab.PublicName + ":3000/", "http://" + lab.PublicName + ":3000/",
				// A browser's lower case of this capital is no i.
				"http://K\u0130OSK." + lab.PublicName + ":3000/", "http://k\u0131osk." + lab.PublicName + ":3000/",
				"//" + app + "@" + lab.PublicName + "/", "http://" + name + "%2f@" + lab.PublicName + ":3000/",
			}})
			t.opens(ctx, map[string]string{page: page})
		}
	})
}
