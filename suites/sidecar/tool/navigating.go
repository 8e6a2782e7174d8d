package tool

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// halfway is how long a page's second half is on its way.
const halfway = 700 * time.Millisecond

func navigating(l *lab.Lab) {
	// "`browser_navigate` loads the page in the session's current tab …"
	It("loads the page in the session's current tab", engine.Clause("tool.effects-navigate"), func(ctx SpecContext) {
		attack.Serve(l, "/one", "<title>One</title><script>sessionStorage.tab = 'mine'</script>")
		attack.Serve(l, "/two", "<title>Two</title><p>two")
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, "/one")
		text := do(ctx, session, "browser_navigate", map[string]any{"url": l.AppURL("/two?x=1#here")})
		Expect(text).To(ContainSubstring("two"), "the snapshot in the result of browser_navigate")
		Expect(l.Sites.RequestsTo(l.AppAddr().String(), "/two")).To(HaveLen(1), "the requests for the page at the app")
		Expect(read[string](ctx, session, "location.href")).To(Equal(l.AppURL("/two?x=1#here")), "where the page is")
		Expect(read[string](ctx, session, "sessionStorage.tab ?? 'another'")).To(Equal("mine"),
			"the mark that the page before left in its tab")
	})

	// "… and returns once it can be read."
	It("returns once the whole document is there", engine.Clause("tool.effects-navigate"), func(ctx SpecContext) {
		engine.Harness(l.Sites.Handle(l.AppAddr().String(), "/halves", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<!doctype html><title>Halves</title><p>first half</p>"))
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-time.After(halfway):
				_, _ = w.Write([]byte("<button>second half</button>"))
			case <-r.Context().Done():
			}
		})))
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		text := do(ctx, session, "browser_navigate", map[string]any{"url": l.AppURL("/halves")})
		Expect(text).To(ContainSubstring("second half"), "the snapshot in the result of browser_navigate")
		ref(text, "button", "second half")
	})

	// "`browser_navigate_back` goes to the page before in the tab's history."
	It("goes back to the page before, one page each time", engine.Clause("tool.effects-navigate-back"), func(ctx SpecContext) {
		attack.Serve(l, "/one", "<title>One</title><h1>first</h1>")
		attack.Serve(l, "/two", "<title>Two</title><h1>second</h1>")
		attack.Serve(l, "/three", "<title>Three</title><h1>third</h1>")
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		for _, path := range []string{"/one", "/two", "/three", "/status?code=404"} {
			open(ctx, l, session, path)
		}
		for _, before := range []struct{ path, heading string }{{"/three", "third"}, {"/two", "second"}, {"/one", "first"}} {
			text := do(ctx, session, "browser_navigate_back", nil)
			Expect(read[string](ctx, session, "location.pathname")).To(Equal(before.path), "where the page is after going back")
			Expect(read[string](ctx, session, "document.querySelector('h1').textContent")).To(Equal(before.heading), "what the page shows")
			Expect(text).To(ContainSubstring(before.heading), "the snapshot in the result of browser_navigate_back")
		}
		open(ctx, l, session, "/two")
		do(ctx, session, "browser_navigate_back", nil)
		Expect(read[string](ctx, session, "location.pathname")).To(Equal("/one"), "where the page is after going on and back again")
	})

	// "… goes to the page before …": a state of the same document is a page of its own in the history.
	It("goes back to a state of the same document", engine.Clause("tool.effects-navigate-back"), func(ctx SpecContext) {
		attack.Serve(l, "/states", `<title>States</title><p>states<script>
window.popped = [];
addEventListener("popstate", () => popped.push(location.pathname + location.hash));
</script>`)
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, "/states")
		read[bool](ctx, session, "(location.hash = 'part', true)")
		read[bool](ctx, session, "(history.pushState(1, '', '/pushed'), popped = [], true)")
		for _, before := range []string{"/states#part", "/states"} {
			do(ctx, session, "browser_navigate_back", nil)
			Expect(read[string](ctx, session, "location.pathname + location.hash")).To(Equal(before), "where the page is after going back")
		}
		Expect(read[[]string](ctx, session, "popped")).To(Equal([]string{"/states#part", "/states"}), "the states that the document went back to")
	})
}
