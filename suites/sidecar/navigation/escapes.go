package navigation

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// way is how a page of the app at /go/<name> leads to a page of another origin.
type way struct {
	name string
	// leads answers at the app; to is the other page.
	leads func(to string) http.HandlerFunc
	// late tells that it may lead there only when the call is over that opened the app's page.
	late bool
	// to is the other page where it is another than the usual one.
	to func(l *lab.Lab, path string) string
	// serves is what the usual site answers where that isn't the usual page.
	serves func(page string) http.HandlerFunc
}

// byStatus are redirects, with no page of the app on the way.
func byStatus() []way {
	ways := []way{
		{name: "chain", leads: chain},
		{name: "slow", leads: func(to string) http.HandlerFunc { return later(redirect(http.StatusFound, to)) }},
		{name: "another-site", leads: found, to: func(l *lab.Lab, path string) string { return l.PublicURL(1, "/on"+path) }},
		{name: "https", leads: found, to: func(l *lab.Lab, path string) string { return l.SecureURL(siteName, path) }},
		{name: "no-scheme", leads: found, to: func(l *lab.Lab, path string) string {
			return strings.TrimPrefix(l.NameURL(siteName, path), "http:")
		}},
		{name: "localhost", leads: found, to: func(_ *lab.Lab, path string) string { return "http://localhost:3000" + path }},
		{name: "another-port", leads: found, to: func(l *lab.Lab, path string) string {
			return fmt.Sprintf("http://%s:%d%s", l.AppAddr().Addr(), lab.SitePort, path)
		}},
		{name: "slow-page", leads: found, serves: func(page string) http.HandlerFunc { return later(attack.HTML(http.StatusOK, page)) }},
		{name: "endless-page", leads: found, serves: endless},
		{name: "missing-page", leads: found, serves: func(page string) http.HandlerFunc { return attack.HTML(http.StatusNotFound, page) }},
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		ways = append(ways, way{name: strconv.Itoa(code), leads: func(to string) http.HandlerFunc { return redirect(code, to) }})
	}
	return ways
}

// byPage are pages of the app that lead on by themselves: to the other origin, or to a redirect of the app's that does.
func byPage() []way {
	direct := []way{
		{name: "meta", leads: inPage(`<meta http-equiv="refresh" content="0; url=%s">`)},
		{name: "script", leads: inPage(`<script>location = "%s"</script>`)},
		{name: "loaded", leads: inPage(`<script>addEventListener("load", () => location.replace("%s"))</script>`)},
		{name: "refresh", leads: func(to string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Refresh", "0; url="+to)
				attack.HTML(http.StatusOK, leaving)(w, r)
			}
		}},
	}
	ways := slices.Clone(direct)
	for _, d := range direct {
		ways = append(ways, way{name: d.name + "-redirect", leads: func(to string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, onward) {
					redirect(http.StatusFound, to)(w, r)
					return
				}
				d.leads(r.URL.Path+onward)(w, r)
			}
		}})
	}
	for i := range ways {
		ways[i].late = true
	}
	return ways
}

func inPage(html string) func(to string) http.HandlerFunc {
	return func(to string) http.HandlerFunc { return attack.HTML(http.StatusOK, leaving+fmt.Sprintf(html, to)) }
}

// onward is where a page of the app leads first when it takes two steps.
const onward = "/onward"

const leaving = `<!doctype html><title>leaving</title><link rel="icon" href="data:,"><p>leaving`

func found(to string) http.HandlerFunc { return redirect(http.StatusFound, to) }

func redirect(code int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}
}

// chain leads there by four redirects, all but the last within the app.
func chain(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		step := r.URL.Query().Get("step")
		if len(step) < 3 {
			redirect(http.StatusFound, r.URL.Path+"?step="+step+"x")(w, r)
			return
		}
		redirect(http.StatusTemporaryRedirect, to)(w, r)
	}
}

// later answers after half a second.
func later(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(500 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			answer(w, r)
		case <-r.Context().Done():
		}
	}
}

// endless is a page that never ends.
func endless(page string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		attack.HTML(http.StatusOK, page)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// siteName is the other origin's usual name.
const siteName = "shop." + lab.PublicName

// secretPath is the path of a way's other page, as far as it may be logged by its own site.
func secretPath(w way) string { return "/hidden-path/" + w.name }

// secretPage is a page of the other origin, no word of which may be shown. It tells its own site that it lives, as long
// as it does.
func secretPage(w way) string {
	return fmt.Sprintf(`<!doctype html><title>hidden-title</title><link rel="icon" href="data:,">
<h1>hidden-text</h1><button>hidden-button</button><img alt="hidden-image" src="data:,">
<script>
  console.error("hidden-log");
  const beat = () => fetch(%q, { mode: "no-cors" }).catch(() => {});
  beat();
  setInterval(beat, 100);
</script>
`, beatPath(w))
}

func beatPath(w way) string { return "/beat/" + w.name }

// secret is what every part of the other page and its address has in it.
const secret = "hidden-"

// escape is the app and the other origins, set up for some ways.
type escape struct {
	l    *lab.Lab
	ways []way
}

func prepare(l *lab.Lab, ways []way) escape {
	GinkgoHelper()
	app := l.AppAddr().String()
	for _, w := range ways {
		path := secretPath(w)
		to := l.NameURL(siteName, path)
		if w.to != nil {
			to = w.to(l, path)
		}
		engine.Harness(l.Sites.Handle(app, goPath(w), w.leads(to+"?hidden-query#hidden-fragment")))
		engine.Harness(l.Sites.Handle(app, goPath(w)+onward, w.leads(to+"?hidden-query#hidden-fragment")))
		serves := attack.HTML(http.StatusOK, secretPage(w))
		if w.serves != nil {
			serves = w.serves(secretPage(w))
		}
		engine.Harness(l.Sites.Handle(siteName, path, serves))
	}
	engine.Harness(l.Sites.Handle(lab.Authority(l.Public(1), lab.SitePort), "/on/", http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			redirect(http.StatusFound, l.NameURL(siteName, strings.TrimPrefix(r.URL.Path, "/on"))+"?hidden-query")(w, r)
		})))
	engine.Harness(l.Sites.Handle(app, "/framing", attack.HTML(http.StatusOK,
		leaving+fmt.Sprintf(`<iframe src=%q></iframe>`, l.NameURL(siteName, secretPath(framed()))))))
	engine.Harness(l.Sites.Handle(siteName, secretPath(framed()), attack.HTML(http.StatusOK, secretPage(framed()))))
	engine.Harness(l.Sites.Handle(app, "/home", redirect(http.StatusFound, "/home/on")))
	engine.Harness(l.Sites.Handle(app, "/home/on", redirect(http.StatusTemporaryRedirect, "/pages/about.html")))
	return escape{l: l, ways: ways}
}

func goPath(w way) string { return "/go/" + w.name }

// framed is how the other page may be shown: in a frame.
func framed() way { return way{name: "framed"} }

// control wants redirects within the app to work, and the other page to be there and to tell so while it is shown where
// it may be.
func (e escape) control(ctx SpecContext, session *lab.Session, o opener) {
	GinkgoHelper()
	Expect(o.opened(ctx, session, e.l.AppURL("/home"))).To(HaveField("Href", e.l.AppURL("/pages/about.html")),
		"the control: %s follows redirects within the app", o)
	before := len(e.beats(framed()))
	Expect(session.Navigate(ctx, e.l.AppURL("/framing"))).To(Succeed(), "the control: opening a page with a frame")
	Eventually(ctx, func() int { return len(e.beats(framed())) }).WithTimeout(5*time.Second).WithPolling(20*time.Millisecond).
		Should(BeNumerically(">", before), "the control: the other page lives while it is shown in a frame")
	Expect(session.Navigate(ctx, e.l.AppURL("/pages/about.html"))).To(Succeed(), "the control: opening the app")
}

// by are the ways that an opener is tried with: all, or one of each kind where a tab has to be opened for each.
func (o opener) by(ways []way) []way {
	if o.inNewTab {
		return some(ways, "302", "chain", "https", "slow-page", "endless-page", "script", "meta-redirect")
	}
	return ways
}

// beats are the times when a way's other page told that it lives.
func (e escape) beats(w way) []time.Time {
	var times []time.Time
	for _, r := range e.l.Sites.RequestsTo("", beatPath(w)) {
		times = append(times, r.Time)
	}
	return times
}

// some are the ways of the given names.
func some(ways []way, names ...string) []way {
	return slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return !slices.Contains(names, w.name) })
}

// asked tells whether the app was asked for a way, and so led elsewhere.
func (e escape) asked(w way) bool {
	return len(e.l.Sites.RequestsTo(e.l.AppAddr().String(), goPath(w))) > 0
}
