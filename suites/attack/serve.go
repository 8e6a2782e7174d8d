package attack

import (
	"io"
	"net/http"

	"github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// HTML answers with a page, which is asked for anew each time.
func HTML(code int, html string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, html)
	}
}

// Serve puts a page at a path of the app until the spec ends, and returns its URL.
func Serve(l *lab.Lab, path, html string) string {
	ginkgo.GinkgoHelper()
	engine.Harness(l.Sites.Handle(l.AppAddr().String(), path, HTML(http.StatusOK, html)))
	return l.AppURL(path)
}
