package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// TestEverythingGoesThroughTheProxyAndNothingByItself gives Chromium a proxy that lets nothing through but the app.
func TestEverythingGoesThroughTheProxyAndNothingByItself(t *testing.T) {
	app := site(t, map[string]string{"/": "<title>App</title>"})
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host)
		mu.Unlock()
		if "http://"+r.Host != app.URL || r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		answer, err := http.Get(app.URL + r.URL.Path)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(answer.StatusCode)
		_ = answer.Write(w)
		_ = answer.Body.Close()
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(proxy.Close)
	b := start(t, func(o *browser.Options) { o.Proxy = strings.TrimPrefix(proxy.URL, "http://") })
	open(t, b.Pages()[0], app.URL+"/")
	// A look at rest; the conformance suite watches for longer.
	select {
	case <-b.Done():
		t.Fatal("the browser ended")
	case <-time.After(3 * time.Second):
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) == 0 {
		t.Error("the loopback page did not come through the proxy")
	}
	for _, what := range asked {
		if what != "GET "+strings.TrimPrefix(app.URL, "http://") {
			t.Errorf("Chromium asked by itself: %s", what)
		}
	}
}
