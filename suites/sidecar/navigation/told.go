package navigation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// tells matches a text that says that a page went elsewhere, in whichever words.
const tells = `(?i)shop\.pub\.test|redirect|elsewhere|outside|another (origin|page|site)|other (origin|site)|was closed|was refused|left the`

// waitingPage goes on to %[2]q once the app has answered at %[1]q.
const waitingPage = leaving + `<script>fetch(%[1]q).then(() => { location = %[2]q })</script>`

func betweenCallsTold(l *lab.Lab) {
	// "When a page went to another origin between two calls, the session's next call says that this happened."
	It("tells that a page went elsewhere between two calls", engine.Clause("navigation.between-calls-told"),
		SpecTimeout(90*time.Second), func(ctx SpecContext) {
			session := attack.Connect(ctx, attack.Sidecar(ctx, l))
			e := prepare(l, some(byStatus(), "302", "chain", "another-site"))
			e.control(ctx, session, openers()[0])
			for _, call := range []struct {
				by   way
				tool string
				args map[string]any
			}{
				{e.ways[0], "browser_snapshot", map[string]any{}},
				{e.ways[1], "browser_evaluate", map[string]any{"function": "() => 1"}},
				{e.ways[2], "browser_navigate", map[string]any{"url": l.AppURL("/pages/about.html")}},
			} {
				did := fmt.Sprintf("%s after a page went elsewhere by a redirect of kind %s", call.tool, call.by.name)
				betweenCalls(ctx, l, session, call.tool, goPath(call.by))
				Eventually(ctx, func() bool { return e.asked(call.by) }).WithTimeout(5*time.Second).Should(BeTrue(), "the control: the page goes")
				// It happened before the next call: the other page, if it was shown, is gone.
				e.gone(ctx, call.by)
				result, err := session.Call(ctx, call.tool, call.args)
				Expect(err).NotTo(HaveOccurred(), did)
				Expect(result.Text).To(MatchRegexp(tells), did)
				Expect(string(result.Raw)).NotTo(ContainSubstring(secret), did)
			}
			Expect(session.Navigate(ctx, l.AppURL("/pages/about.html"))).To(Succeed(), "opening the app afterwards")
			arrivals := func() int { return len(l.Sites.RequestsTo(l.AppAddr().String(), "/pages/about.html")) }
			before := arrivals()
			betweenCalls(ctx, l, session, "control", "/home")
			Eventually(ctx, arrivals).WithTimeout(5*time.Second).Should(BeNumerically(">", before), "the control: the page goes")
			result, err := session.Call(ctx, "browser_snapshot", map[string]any{})
			Expect(err).NotTo(HaveOccurred(), "taking a snapshot")
			Expect(result.Text).NotTo(MatchRegexp(tells), "the control: a snapshot after a page went to another page of the app")
		})
}

// betweenCalls opens a page and lets it go on to another path once the call is over. The name is its own.
func betweenCalls(ctx context.Context, l *lab.Lab, session *lab.Session, name, to string) {
	GinkgoHelper()
	over := make(chan struct{})
	app := l.AppAddr().String()
	engine.Harness(l.Sites.Handle(app, "/waiting/"+name, attack.HTML(http.StatusOK, fmt.Sprintf(waitingPage, "/over/"+name, to))))
	engine.Harness(l.Sites.Handle(app, "/over/"+name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	})))
	Expect(session.Navigate(ctx, l.AppURL("/waiting/"+name))).To(Succeed(), "opening a page that leaves later")
	Expect(where(ctx, session)).To(HaveField("Href", l.AppURL("/waiting/"+name)), "the control: the page is there before it leaves")
	close(over)
}
