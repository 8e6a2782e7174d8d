package navigation

import (
	"context"
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

// framePage is a page of a public site with something to press and somewhere to go on to. %[1]s is its name.
const framePage = `<!doctype html><title>frame</title><link rel="icon" href="data:,">
<button onclick="fetch('/pressed/%[1]s'); this.textContent = 'pressed %[1]s'">press %[1]s</button>
<a href="/next/%[1]s">next %[1]s</a>`

// shownWithin bounds the time from an action to its effect in a frame.
const shownWithin = 10 * time.Second

// publicFrames are URLs of public sites, by the name of the page there.
func publicFrames(l *lab.Lab) map[string]string {
	return map[string]string{
		"name": l.NameURL(siteName, "/frame/name"), "address": l.PublicURL(0, "/frame/address"), "ipv6": l.PublicURL(3, "/frame/ipv6"),
		"https": l.SecureURL(siteName, "/frame/https"), "redirected": l.AppURL("/to-frame"),
	}
}

func frames(l *lab.Lab) {
	// "Frames of public sites inside a page of the app load and stay usable."
	It("leaves frames of public sites usable", engine.Clause("navigation.frames"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		framing := leaving
		for name, url := range publicFrames(l) {
			framing += fmt.Sprintf(`<iframe src=%q></iframe>`, url)
			for path, html := range map[string]string{
				"/frame/": fmt.Sprintf(framePage, name), "/next/": fmt.Sprintf(`<!doctype html><p>arrived %s`, name),
			} {
				engine.Harness(l.Sites.Handle("", path+name, attack.HTML(http.StatusOK, html)))
			}
		}
		app := l.AppAddr().String()
		engine.Harness(l.Sites.Handle(app, "/frames", attack.HTML(http.StatusOK, framing)))
		engine.Harness(l.Sites.Handle(app, "/to-frame", redirect(http.StatusFound, l.PublicURL(1, "/frame/redirected"))))
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		Expect(session.Navigate(ctx, l.AppURL("/frames"))).To(Succeed(), "opening a page of the app with frames of public sites")
		for name := range publicFrames(l) {
			press(ctx, session, `button "press `+name+`"`)
			snapshot(ctx, session, `button "pressed `+name+`"`)
			Eventually(ctx, func() int { return len(l.Sites.RequestsTo("", "/pressed/"+name)) }).WithTimeout(shownWithin).
				Should(Equal(1), "the requests that the frame %s makes when its button is pressed", name)
		}
		// What is refused to the page itself takes nothing from its frames.
		result := openers()[0].open(ctx, session, l.PublicURL(0, "/frame/name"))
		Expect(result.IsError).To(BeTrue(), "opening the page of a frame in the tab itself: %s", result.Text)
		for name := range publicFrames(l) {
			press(ctx, session, `link "next `+name+`"`)
			snapshot(ctx, session, "arrived "+name)
		}
		Expect(where(ctx, session)).To(HaveField("Href", l.AppURL("/frames")), "where the tab is")
		Expect(session.Navigate(ctx, l.AppURL("/pages/about.html"))).To(Succeed(), "opening the app afterwards")
	})
}

// snapshot takes one until it has something in it, and returns the line.
func snapshot(ctx context.Context, session *lab.Session, what string) string {
	GinkgoHelper()
	var found string
	Eventually(ctx, func(g Gomega) {
		result, err := session.Call(ctx, "browser_snapshot", map[string]any{})
		g.Expect(err).NotTo(HaveOccurred(), "taking a snapshot")
		found = ""
		for line := range strings.Lines(result.Text) {
			if strings.Contains(line, what) {
				found = line
			}
		}
		g.Expect(found).NotTo(BeEmpty(), "looking for %s in a snapshot: %s", what, result.Text)
	}).WithTimeout(shownWithin).WithPolling(100 * time.Millisecond).Should(Succeed())
	return found
}

// press clicks on what a snapshot shows.
func press(ctx context.Context, session *lab.Session, what string) {
	GinkgoHelper()
	line := snapshot(ctx, session, what)
	_, ref, ok := strings.Cut(line, "[ref=")
	Expect(ok).To(BeTrue(), "the ref of %s in %s", what, line)
	ref, _, _ = strings.Cut(ref, "]")
	result, err := session.Call(ctx, "browser_click", map[string]any{"target": ref})
	Expect(err).NotTo(HaveOccurred(), "clicking on %s", what)
	Expect(result.IsError).To(BeFalse(), "clicking on %s: %s", what, result.Text)
}
