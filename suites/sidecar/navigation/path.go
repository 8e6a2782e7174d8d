package navigation

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func paths(l *lab.Lab) {
	// "A URL that is a path, such as `/login`, is resolved on the app's origin."
	It("resolves a path on the app's origin", engine.Clause("navigation.path"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		// A path of app_url itself is no part of its origin.
		s := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("app_url", l.AppURL("/some/path?with=query")) })
		engine.Harness(l.Sites.Handle(l.AppAddr().String(), "/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			// What a page says of its links is nothing to an agent's path.
			_, _ = fmt.Fprintf(w, `<!doctype html><title>app</title><link rel="icon" href="data:,"><base href=%q><p>app`, l.PublicURL(0, "/deep/er/"))
		})))
		session := attack.Connect(ctx, s)
		for _, o := range openers() {
			offered(ctx, session, o.tool)
			t := trialIn(ctx, l, s, session, o, l.AppAddr().String())
			// The first from a blank tab, and then each from the page before it.
			for _, path := range []string{
				"/login", "/", "/a/b?q=1#f", "/login/", "/a/b/c/d.html", "/?q=http://pub.test/", "/caf%C3%A9?x=%2F%2F", "/a?to=//pub.test:8080/x#//pub.test",
			} {
				requests := len(t.witness.atApp())
				Expect(o.opened(ctx, session, path)).To(HaveField("Href", t.origin+path), "where %s with the path %s leads", o, path)
				target, _, _ := strings.Cut(path, "#")
				Expect(t.witness.atApp()[requests:]).To(ContainElement(target), "the requests at the app for the path %s", path)
			}
			t.witness.nothingLeft(ctx, -1, "opening paths")
		}
	})

	// The same, of paths that a careless reader takes for something else: they lead to the app or are refused.
	It("takes no path for another host", engine.Clause("navigation.path"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		for _, o := range openers() {
			t := try(ctx, l, o)
			pub := fmt.Sprintf("%s:%d", siteName, lab.SitePort)
			for _, path := range []string{
				"/.//" + pub + "/x", "/..//" + pub + "/x", "/x/..//" + pub + "/x", "/%2f" + pub + "/x", "/%5c" + pub + "/x", "/%2e%2e//" + pub + "/x",
				"/http://" + pub + "/x", "/@" + pub + "/x", "/:@" + pub + "/x", "/%09/" + pub + "/x", "/;//" + pub + "/x", "/?//" + pub + "/x", "/#//" + pub + "/x",
			} {
				if !o.open(ctx, t.session, path).IsError {
					Expect(where(ctx, t.session)).To(HaveField("Origin", t.origin), "where %s with the path %s leads", o, path)
					o.put(ctx, t.session)
				}
				t.witness.nothingLeft(ctx, -1, fmt.Sprintf("%s with the path %s", o, path))
			}
			mark(ctx, l, t.session, "after")
		}
	})
}
