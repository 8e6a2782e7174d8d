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
// the network as they were. The app opens before and after.
func (t trial) refuses(ctx context.Context, urls []string) {
	GinkgoHelper()
	open, requests := tabs(ctx, t.session), len(t.witness.atApp())
	for _, url := range urls {
		t.refused(ctx, url)
		// Cheaper than all that is looked at below, and it tells which URL it was.
		Expect(t.witness.atApp()).To(HaveLen(requests), "%s with the URL %s: requests at the app", t.o, shown(url))
	}
	Expect(tabs(ctx, t.session)).To(Equal(open), "the tabs after %s with the URLs %s", t.o, quoted(urls))
	Expect(where(ctx, t.session)).To(HaveField("Mark", "before"), "the page's mark after %s with the URLs %s", t.o, quoted(urls))
	t.witness.nothingLeft(ctx, requests, fmt.Sprintf("%s with the URLs %s", t.o, quoted(urls)))
	Expect(t.o.opened(ctx, t.session, t.origin+"/pages/about.html")).To(HaveField("Href", t.origin+"/pages/about.html"),
		"the control: %s opens the app afterwards", t.o)
	// What was asked for a moment late would have come by now.
	t.witness.nothingLeft(ctx, -1, fmt.Sprintf("%s with the URLs %s", t.o, quoted(urls)))
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
		// "… open only the app's origin and `about:blank`."
		It(fmt.Sprintf("opens the app and about:blank by %s", o), engine.Clause("navigation.app-only"), func(ctx SpecContext) {
			t := try(ctx, l, o)
			for url, href := range map[string]string{
				t.origin + "/pages/about.html": t.origin + "/pages/about.html",
				t.origin:                       t.origin + "/",
				t.origin + "/":                 t.origin + "/",
				t.origin + "/pages/about.html?to=//pub.test/&b=@c#d/e":              t.origin + "/pages/about.html?to=//pub.test/&b=@c#d/e",
				"HTTP" + strings.TrimPrefix(t.origin, "http") + "/pages/about.html": t.origin + "/pages/about.html",
				"about:blank": "about:blank",
			} {
				Expect(o.opened(ctx, t.session, url)).To(HaveField("Href", href), "where %s with the URL %s leads", o, shown(url))
			}
			t.witness.nothingLeft(ctx, -1, "opening the app and about:blank")
		})

		for _, kind := range foreign(l, 0) {
			// "Everything else is an error that names the app's origin, and no request leaves: another host, port or scheme,
			// `localhost` for `127.0.0.1`, `//host`, `/\host`, `http:/host`, `app@host`, `host.app`, `file:`, `data:`,
			// `javascript:`, `chrome:`, `view-source:`, `blob:`, an empty URL, and spellings with tabs, line breaks,
			// backslashes or encoded delimiters that a browser would read as another host."
			It(fmt.Sprintf("refuses %s by %s", kind.kind, o), engine.Clause("navigation.app-only"), func(ctx SpecContext) {
				t := try(ctx, l, o)
				for _, g := range foreign(l, t.witness.s.Port) {
					if g.kind == kind.kind {
						t.refuses(ctx, g.urls)
					}
				}
			})
		}

		// The same: a URL that a browser reads as the app's, although others might not, leads to the app or is refused.
		It(fmt.Sprintf("opens nothing else by odd spellings of the app and %s", o), engine.Clause("navigation.app-only"), func(ctx SpecContext) {
			t := try(ctx, l, o)
			for _, url := range readAsApp(l) {
				open := len(tabs(ctx, t.session))
				if result := o.open(ctx, t.session, url); !result.IsError {
					at := where(ctx, t.session)
					Expect(at.Origin == t.origin || strings.HasPrefix(at.Href, "about:blank")).
						To(BeTrue(), "where %s with the URL %s leads: %s", o, shown(url), at.Href)
				}
				tidy(ctx, t.session, open)
				t.witness.nothingLeft(ctx, -1, fmt.Sprintf("%s with the URL %s", o, shown(url)))
			}
			mark(ctx, l, t.session, "after")
		})

		// "Everything else is an error that names the app's origin …": of an app that has a name.
		It(fmt.Sprintf("tells the app's name from others by %s", o), engine.Clause("navigation.app-only"), func(ctx SpecContext) {
			const name = "kiosk." + lab.PublicName
			app := fmt.Sprintf("%s:%d", name, l.AppAddr().Port())
			engine.Harness(l.DNS.Set(name, dns.Answer(l.AppAddr().Addr())))
			s := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("app_url", "http://"+app+"/some/path") })
			session := attack.Connect(ctx, s)
			offered(ctx, session, o.tool)
			t := trialIn(ctx, l, s, session, o, app)
			for _, url := range []string{"http://" + app + "/pages/about.html", "Http://KIOSK.Pub.Test:3000/pages/about.html", "/pages/about.html"} {
				Expect(o.opened(ctx, session, url)).To(HaveField("Href", t.origin+"/pages/about.html"), "where %s with the URL %s leads", o, shown(url))
			}
			requests := len(t.witness.atApp())
			for _, url := range []string{
				"http://127.0.0.1:3000/", "http://localhost:3000/", "http://" + name + "/", "https://" + app + "/", "http://" + app + "0/",
				"http://" + name + ".:3000/", "http://www." + app + "/", "http://kiosk:3000/", "http://xkiosk." + lab.PublicName + ":3000/",
				"http://" + name + "x:3000/", "http://" + name + "." + lab.PublicName + ":3000/", "http://" + lab.PublicName + ":3000/",
				// A browser's lower case of this capital is no i.
				"http://K\u0130OSK." + lab.PublicName + ":3000/", "http://k\u0131osk." + lab.PublicName + ":3000/",
				"//" + name + ":3000@" + lab.PublicName + "/", "http://" + name + "%2f@" + lab.PublicName + ":3000/",
			} {
				t.refused(ctx, url)
				t.witness.nothingLeft(ctx, requests, fmt.Sprintf("%s with the URL %s", o, shown(url)))
			}
			Expect(o.opened(ctx, session, "/pages/index.html")).To(HaveField("Href", t.origin+"/pages/index.html"),
				"the control: %s opens the app afterwards", o)
			t.witness.nothingLeft(ctx, -1, "refusing other names than the app's")
		})
	}
}
