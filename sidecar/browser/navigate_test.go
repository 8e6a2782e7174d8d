package browser_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Attaching to a page's targets makes Chromium hold workers back until somebody lets them go on.
func TestWorkersRun(t *testing.T) {
	b := start(t, nil)
	app := site(t, map[string]string{"/": `<script>
		const blob = (text) => URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
		window.ran = [];
		new Worker(blob("postMessage(1)")).onmessage = () => ran.push("dedicated");
		new Worker(blob('new Worker(URL.createObjectURL(new Blob(["postMessage(1)"]))).onmessage = () => postMessage(1)'))
			.onmessage = () => ran.push("nested");
		new SharedWorker(blob("onconnect = (e) => e.ports[0].postMessage(1)")).port.onmessage = () => ran.push("shared");
	</script>`})
	p := b.Pages()[0]
	open(t, p, app.URL+"/")
	eventually(t, "every worker ran", func() bool {
		return strings.Contains(evaluate(t, p, "ran.sort().join()"), "dedicated,nested,shared")
	})
}

// A script that leaves at once, and may not, leaves a document behind whose states never come.
func TestWaitForEndsWhereTheDocumentStopsLoading(t *testing.T) {
	b := start(t, nil)
	app := site(t, map[string]string{"/": `<script>location = "http://elsewhere.test/"</script><p>left behind`})
	b.Restrict(parse(t, app.URL))
	p := b.Pages()[0]
	document, err := p.Navigate(t.Context(), app.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := p.WaitFor(ctx, document, "DOMContentLoaded"); err != nil {
		t.Error(err)
	}
}

// An agent's first navigation comes while the sidecar itself opens the app, and must not be the one that is aborted.
func TestOpeningGivesWay(t *testing.T) {
	b := start(t, nil)
	hanging := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-hanging:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("page " + r.URL.Path))
	}))
	defer server.Close()
	defer close(hanging)
	p := b.Pages()[0]
	for range 5 {
		wait := p.Open(t.Context(), server.URL+"/slow")
		if _, err := p.Navigate(t.Context(), server.URL+"/wanted"); err != nil {
			t.Fatalf("the navigation that was asked for: %v", err)
		}
		if err := wait(); err != nil {
			t.Errorf("the opening that gave way: %v", err)
		}
		eventually(t, "the tab is where it was sent", func() bool { return p.URL() == server.URL+"/wanted" })
	}
	if err := p.Open(t.Context(), server.URL+"/app")(); err != nil {
		t.Errorf("an opening alone: %v", err)
	}
	eventually(t, "an opening alone arrives", func() bool { return p.URL() == server.URL+"/app" })
}

// The page that an agent asks for first is often the very one that the sidecar is opening. Chromium would take the second
// for the first one again, ignore it and call it aborted.
func TestOpeningGivesWayToTheSameAddress(t *testing.T) {
	b := start(t, nil)
	asked := make(chan struct{}, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-time.After(50 * time.Millisecond): // the opening is under way when the navigation comes
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("the app"))
	}))
	defer server.Close()
	p := b.Pages()[0]
	for range 5 {
		wait := p.Open(t.Context(), server.URL+"/")
		<-asked
		if _, err := p.Navigate(t.Context(), server.URL+"/"); err != nil {
			t.Fatalf("the navigation that was asked for: %v", err)
		}
		if err := wait(); err != nil {
			t.Errorf("the opening that gave way: %v", err)
		}
	}
}
