package tools_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/mcp"
	"github.com/browser-sidecar/conformance/sidecar/tools"
)

var elsewhere = []string{
	"", " ", "http://127.0.0.1:1/", "http://127.0.0.1/", "https://127.0.0.1:8080/", "http://localhost:8080/",
	"//127.0.0.1:8080/x", `/\127.0.0.1:8080/x`, `\\127.0.0.1:8080`, "http:/127.0.0.1:8080/", "http:127.0.0.1:8080/",
	`http:\\127.0.0.1:8080/`, "http://127.0.0.1:8080@evil.test/", "http://user@127.0.0.1:8080/", "http://127.0.0.1:8080.evil.test/",
	`http://127.0.0.1:8080\@evil.test/`, "http://evil.test#@127.0.0.1:8080/", "http://127.1:8080/", "http://2130706433:8080/",
	"file:///etc/passwd", "data:text/html,x", "javascript:alert(1)", "chrome://version", "view-source:http://127.0.0.1:8080/",
	"blob:http://127.0.0.1:8080/x", "about:srcdoc", "about:blank#x", "example.com", "127.0.0.1:8080/x", "ws://127.0.0.1:8080/",
	"ht\ntp://127.0.0.1:8080/", "/a\n/b", "/\t/evil.test", "/a\\b",
}

func TestDestination(t *testing.T) {
	app, err := url.Parse("http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"about:blank":                 "about:blank",
		"/login":                      "http://127.0.0.1:8080/login",
		"/":                           "http://127.0.0.1:8080/",
		"/a?b=//c&d=\\#e":             "http://127.0.0.1:8080/a?b=//c&d=\\#e",
		" http://127.0.0.1:8080/x ":   "http://127.0.0.1:8080/x",
		"HTTP://127.0.0.1:8080":       "http://127.0.0.1:8080/",
		"http://127.0.0.1:8080?q":     "http://127.0.0.1:8080/?q",
		"/http://evil.test/":          "http://127.0.0.1:8080/http://evil.test/",
		"/with space/é":               "http://127.0.0.1:8080/with%20space/%C3%A9",
		"http://127.0.0.1:8080/@evil": "http://127.0.0.1:8080/@evil",
	} {
		if got, ok := tools.Destination(app, raw); !ok || got != want {
			t.Errorf("%q leads to %q (%v), want %q", raw, got, ok, want)
		}
	}
	for _, raw := range elsewhere {
		if got, ok := tools.Destination(app, raw); ok {
			t.Errorf("%q leads to %q, want a refusal", raw, got)
		}
	}
	kiosk, err := url.Parse("https://kiosk.test")
	if err != nil {
		t.Fatal(err)
	}
	// A browser reads the first of these letters as an i with a dot above it, and the second, a Kelvin sign, as a k.
	for _, raw := range []string{"https://K\u0130OSK.test/", "https://\u212aiosk.test/", "https://k%C4%B0osk.test/"} {
		if got, ok := tools.Destination(kiosk, raw); ok {
			t.Errorf("%q leads to %q, want a refusal", raw, got)
		}
	}
	named, err := url.Parse("https://App.test")
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{
		"https://app.test/": true, "https://APP.TEST:443/": true, "http://app.test/": false, "https://app.test./": false,
		"https://app.test:444/": false, "https://sub.app.test/": false,
	} {
		if _, ok := tools.Destination(named, raw); ok != want {
			t.Errorf("%q: %v", raw, ok)
		}
	}
}

func FuzzDestination(f *testing.F) {
	for _, raw := range append(elsewhere, "/login", "about:blank", "http://127.0.0.1:8080/") {
		f.Add(raw)
	}
	app, err := url.Parse("http://127.0.0.1:8080")
	if err != nil {
		f.Fatal(err)
	}
	named, err := url.Parse("https://kiosk.test")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, app := range []*url.URL{app, named} {
			got, ok := tools.Destination(app, raw)
			if !ok || got == "about:blank" && strings.TrimSpace(raw) == got {
				continue
			}
			if u, err := url.Parse(got); err != nil || u.Scheme != app.Scheme || u.Host != app.Host && u.Host != app.Host+":443" || u.User != nil {
				t.Errorf("%q leads to %q", raw, got)
			}
			// Both what the agent wrote and what Chromium is told, as a browser reads it.
			for _, text := range []string{raw, got} {
				if read := readByBrowser(text, app.String()); read != app.String() {
					t.Errorf("%q leads to %q, and a browser reads %q as %s", raw, got, text, read)
				}
			}
		}
	})
}

func TestNavigateRefusesOtherOrigins(t *testing.T) {
	b := setUp(t, map[string]string{"/": "<title>App</title>"})
	b.open("/")
	for _, address := range []string{b.other + "/", "file:///etc/passwd", "data:text/html,x", "chrome://version", "//x/", ""} {
		b.refused("Navigation to "+address+" was refused: this browser may only open pages of the sandbox app at "+b.app,
			"browser_navigate", arg{"url": address})
	}
	wants(t, b.must("browser_snapshot", arg{}), "- Page Title: App")
}

// secret is what pages of the other site say; no result may show it.
const secret = "SECRET-OF-THE-OTHER-SITE"

func escapes() map[string]string {
	return map[string]string{
		"/": `<title>App</title><a id=link href="OTHER/secret?SECRET">Link</a>
<a id=redirect href="/to?url=OTHER/secret?SECRET">Redirect</a>
<a id=tab target=_blank href="/to?url=OTHER/secret?SECRET">Tab</a>
<button id=popup onclick="window.open('OTHER/secret')">Popup</button>
<button id=script onclick="location='OTHER/secret'">Script</button>
<form id=f method=post action="OTHER/secret"><button id=form>Form</button></form>`,
		"/secret":   "<title>" + secret + "</title>" + secret,
		"/delayed":  `<title>Delayed</title><script>setTimeout(() => location = "/to?url=OTHER/secret", 300)</script>`,
		"/meta":     `<title>Meta</title><meta http-equiv=refresh content="0;url=/to?url=OTHER/secret">`,
		"/frames":   `<title>Frames</title><iframe src="OTHER/widget"></iframe><iframe src="/to?url=OTHER/widget"></iframe>`,
		"/widget":   "<button>Widget</button>",
		"/download": "",
	}
}

func (b *bench) withheld(name string, args arg) {
	b.t.Helper()
	text := b.refused("A page was redirected to "+b.other+", outside the sandbox app, and was closed.", name, args)
	if strings.Contains(strings.ToUpper(text), "SECRET") {
		b.t.Errorf("the result tells of the other site: %s", text)
	}
	for _, p := range b.browser.Pages() {
		if strings.HasPrefix(p.URL(), b.other) {
			b.t.Errorf("a tab is at %s", p.URL())
		}
	}
	wants(b.t, b.open("/"), "- Page Title: App")
}

func TestARedirectedTabIsClosedAndNothingOfItIsTold(t *testing.T) {
	b := setUp(t, escapes())
	b.open("/")
	b.withheld("browser_navigate", arg{"url": "/to?url=" + b.other + "/secret?SECRET"})
	b.withheld("browser_navigate", arg{"url": "/meta"})
	b.withheld("browser_click", arg{"target": "#redirect"})
	b.withheld("browser_click", arg{"target": "#tab"})
	b.withheld("browser_evaluate", arg{"function": "() => { location = '/to?url=" + b.other + "/secret' }"})
}

func TestLeavingTheAppIsRefusedBeforeItLeaves(t *testing.T) {
	b := setUp(t, escapes())
	for _, target := range []string{"#link", "#script", "#form", "#popup"} {
		b.open("/")
		text := b.must("browser_click", arg{"target": target})
		wants(t, text, "### Events\n- Navigation to "+b.other+" was refused")
		if strings.Contains(text, secret) || !strings.Contains(text, "- Page Title: App") {
			t.Errorf("%s: %s", target, text)
		}
		if n := len(b.browser.Pages()); n != 1 {
			// A popup that was refused its first page goes away by itself.
			deadline := time.Now().Add(5 * time.Second)
			for len(b.browser.Pages()) != 1 && time.Now().Before(deadline) {
				<-b.browser.Changed()
			}
		}
	}
}

func TestAnEscapeBetweenTwoCallsIsToldByTheNext(t *testing.T) {
	b := setUp(t, escapes())
	b.open("/delayed")
	deadline := time.After(10 * time.Second)
	for {
		changed := b.browser.Changed()
		if refusals, _ := b.browser.Refusals(0); len(refusals) > 0 {
			break
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("the page never left")
		}
	}
	text := b.must("browser_snapshot", arg{})
	wants(t, text, "A page was redirected to "+b.other+", outside the sandbox app, and was closed.", "- Page URL: about:blank")
	if strings.Contains(text, secret) {
		t.Error(text)
	}
	if text := b.must("browser_snapshot", arg{}); strings.Contains(text, "redirected") {
		t.Errorf("told twice: %s", text)
	}
	wants(t, b.open("/"), "- Page Title: App")
}

func TestFramesOfOtherSitesStayUsable(t *testing.T) {
	b := setUp(t, escapes())
	if got := strings.Count(b.open("/frames"), `button "Widget"`); got != 2 {
		t.Errorf("%d of 2 frames are shown", got)
	}
}

func TestDefinitions(t *testing.T) {
	b := setUp(t, escapes())
	var set mcp.Tools = b.set
	names := ""
	for _, d := range set.Definitions() {
		names += d.Name + " "
		if d.Annotations.DestructiveHint == d.Annotations.ReadOnlyHint || d.Description == "" || d.Annotations.Title == "" {
			t.Errorf("%+v", d)
		}
	}
	if names != "browser_handle_dialog browser_evaluate browser_type browser_navigate browser_navigate_back browser_snapshot "+
		"browser_click browser_tabs " {
		t.Error(names)
	}
}
