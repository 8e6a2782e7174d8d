package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

func TestOrigin(t *testing.T) {
	for raw, want := range map[string]string{
		"http://A.test:80/x": "http://a.test", "https://a.test:443": "https://a.test", "http://a.test:8080/": "http://a.test:8080",
		"http://[::1]:9/": "http://[::1]:9", "blob:http://a.test/x": "http://a.test", "data:text/html,x": "",
		"file:///etc": "", "": "", "chrome://version": "", "http://": "", "://": "", "http://[::1%25lo]/": "", "http://:": "", "http://:80/": "",
		"HTTP://Ab.TEST/": "http://ab.test", "http://u:p@a.test/": "http://a.test", "http://k\u0130o.test/": "http://k\u0130o.test",
	} {
		if got := browser.Origin(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

func FuzzOrigin(f *testing.F) {
	for _, raw := range []string{"http://a.test:80/x", "blob:https://[::1]:9/", "data:,", "http://u:p@h:1/", "http://a%zz/"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		origin := browser.Origin(raw)
		if origin == "" {
			return
		}
		if again := browser.Origin(origin); again != origin {
			t.Errorf("%q: %q is not its own origin but %q", raw, origin, again)
		}
		// What is there in plain letters, read a second way.
		scheme, rest, _ := strings.Cut(strings.TrimPrefix(raw, "blob:"), "://")
		authority, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/")
		authority = authority[strings.LastIndex(authority, "@")+1:]
		if strings.ContainsFunc(authority, func(r rune) bool { return r == '%' || r > '~' }) {
			return
		}
		plain := strings.TrimSuffix(strings.ToLower(scheme+"://"+authority), ":")
		port := map[string]string{"http": ":80", "https": ":443"}[strings.ToLower(scheme)]
		if want := strings.TrimSuffix(plain, port); origin != want {
			t.Errorf("%q: %q, want %q", raw, origin, want)
		}
	})
}

func TestGuardKeepsTheOnlyTabOnTheApp(t *testing.T) {
	b := start(t, nil)
	other := site(t, map[string]string{"/": "other"})
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	app := site(t, map[string]string{"/": "app"})
	b.Restrict(parse(t, app.URL))
	p := b.Pages()[0]
	open(t, p, app.URL+"/")

	// Refused before it leaves: the tab stays.
	var failed *browser.NavigationError
	if _, err := p.Navigate(t.Context(), elsewhere+"/"); !errors.As(err, &failed) || failed.Text != "net::ERR_ABORTED" {
		t.Fatalf("error %v", err)
	}
	if p.Expelled() || p.URL() != app.URL+"/" {
		t.Errorf("the tab is at %s", p.URL())
	}
	// A redirect elsewhere closes it; another one is there instead.
	if _, err := p.Navigate(t.Context(), app.URL+"/to?url="+elsewhere+"/"); err == nil {
		t.Error("the redirect was followed")
	}
	eventually(t, "the tab is closed", func() bool {
		select {
		case <-p.Closed():
			return true
		default:
			return false
		}
	})
	refusals, newest := b.Refusals(0)
	if newest != 2 || refusals[0].Redirected || !refusals[1].Redirected || refusals[1].Origin != elsewhere {
		t.Errorf("refusals %+v", refusals)
	}
	pages := b.Pages()
	if len(pages) != 1 || pages[0].URL() != "about:blank" {
		t.Fatalf("%d tabs", len(pages))
	}
	open(t, pages[0], app.URL+"/")
}

func TestFramesOfAnotherSiteHaveAProcessOfTheirOwn(t *testing.T) {
	b := start(t, nil)
	inner := site(t, map[string]string{"/": "<p>inner</p>"})
	app := site(t, map[string]string{"/": `<iframe src="` + strings.Replace(inner.URL, "127.0.0.1", "localhost", 1) + `/"></iframe>`})
	p := b.Pages()[0]
	open(t, p, app.URL+"/")
	eventually(t, "the frame is known", func() bool { return len(p.Main().Children()) == 1 })
	child := p.Main().Children()[0]
	if child.Session() == p.Session() {
		t.Error("the frame is in the tab's process")
	}
	script := browser.Script{World: "test", Global: "test", Source: "var test = { text: () => document.body.innerText }"}
	var text string
	if err := child.Call(t.Context(), script, "text", &text); err != nil || text != "inner" {
		t.Errorf("%q, %v", text, err)
	}
	owner, err := child.Owner(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	owner.Release()
}

func TestNoServiceWorkerRuns(t *testing.T) {
	b := start(t, nil)
	var asked atomic.Int32
	worker := `fetch("/ran"); self.addEventListener("install", () => skipWaiting());
self.addEventListener("activate", (e) => e.waitUntil(clients.claim()));`
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ran":
			asked.Add(1)
		case "/sw.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, worker)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<iframe src=/frame></iframe>")
		}
	}))
	t.Cleanup(app.Close)
	p := b.Pages()[0]
	open(t, p, app.URL+"/")
	if got := evaluate(t, p, `navigator.serviceWorker.register("/sw.js").then(() => "registered", (e) => e.name)`); got != `"SecurityError"` {
		t.Errorf("a registration: %s", got)
	}
	if got := evaluate(t, p, `() => { const f = document.body.appendChild(document.createElement("iframe"));
  return f.contentWindow.ServiceWorkerContainer.prototype.register.call(navigator.serviceWorker, "/sw.js").then(() => "registered", (e) => e.name); }`); got != `"SecurityError"` {
		t.Errorf("a registration by a fresh frame's function: %s", got)
	}
	// The browser's own register, as a page would have it that got round the refusal: the sidecar's world has it.
	script := browser.Script{World: "own", Global: "own", Source: `var own = { register: (type) => {
  navigator.serviceWorker.register("/sw.js", { type });
  return new Promise((r) => setTimeout(r, 1000, !!navigator.serviceWorker.controller));
} }`}
	for _, kind := range []string{"classic", "module"} {
		var controlled bool
		if err := p.Main().Call(t.Context(), script, "register", &controlled, kind); err != nil || controlled {
			t.Errorf("%s: controlled %v, %v", kind, controlled, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("workers ran %d times", n)
	}
}
