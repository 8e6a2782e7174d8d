package attack

import (
	"context"
	"html/template"
	"io"
	"net/http"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// framesPage has a frame for each URL, and is done when so many of them have said so. The frames stay: what their own pages
// do later still happens.
const framesPage = `<!doctype html>
<title>frames</title>
<script>
  let left = {{.Tells}};
  window.done = left === 0;
  window.addEventListener("message", () => { left--; window.done = left <= 0; });
</script>
{{range .URLs}}<iframe src="{{.}}" width="40" height="20"></iframe>
{{end}}`

// Frames opens a page of the app with a frame for each URL in the sidecar's browser. Done waits until as many frames as tell
// something have told it.
func Frames(ctx context.Context, l *lab.Lab, s *lab.Sidecar, urls []string, tells int) *lab.Session {
	ginkgo.GinkgoHelper()
	page := template.Must(template.New("frames").Parse(framesPage))
	engine.Harness(l.Sites.Handle(l.AppAddr().String(), "/frames", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := page.Execute(w, map[string]any{"URLs": urls, "Tells": tells}); err != nil {
			_, _ = io.WriteString(w, err.Error())
		}
	})))
	session := Connect(ctx, s)
	Expect(session.Navigate(ctx, l.AppURL("/frames"))).To(Succeed(), "opening a page with frames")
	return session
}
