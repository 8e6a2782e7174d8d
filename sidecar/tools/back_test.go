package tools_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestNavigateBack(t *testing.T) {
	b := setUp(t, map[string]string{
		"/":    `<title>One</title><a href="#part">Part</a><button onclick="history.pushState(1, '', '/pushed')">Push</button>`,
		"/two": `<title>Two</title><p>two`,
	})
	b.open("/")
	b.open("/two")
	b.open("/missing")
	wants(t, b.must("browser_navigate_back", arg{}), "### Ran Playwright code\n```js\nawait page.goBack();\n```\n### Page\n- Page URL: "+b.app+
		"/two\n- Page Title: Two\n### Snapshot\n```yaml\n", "two")
	page := b.must("browser_navigate_back", arg{})
	wants(t, page, "- Page Title: One")
	b.must("browser_click", arg{"target": ref(t, page, `"Part"`)})
	b.must("browser_click", arg{"target": ref(t, page, `"Push"`)})
	wants(t, b.must("browser_snapshot", arg{}), "- Page URL: "+b.app+"/pushed\n")
	wants(t, b.must("browser_navigate_back", arg{}), "- Page URL: "+b.app+"/#part\n- Page Title: One")
	wants(t, b.must("browser_navigate_back", arg{}), "- Page URL: "+b.app+"/\n- Page Title: One")
	wants(t, b.must("browser_navigate_back", arg{}), "- Page URL: about:blank\n### Snapshot\n```yaml\n\n```")
	// Without a history the page stays.
	wants(t, b.must("browser_navigate_back", arg{}), "await page.goBack();", "- Page URL: about:blank")
	b.open("/two")
	b.open("/missing")
	b.must("browser_navigate_back", arg{})
	b.open("/missing")
	wants(t, b.must("browser_tabs", arg{"action": "new"}), "- 1: (current) [](about:blank)")
	wants(t, b.must("browser_navigate_back", arg{}), "- Page URL: about:blank")
}

// What was a page the first time is something else when the tab comes back to it.
func TestNavigateBackThatDoesNotHappenIsAnError(t *testing.T) {
	b := setUp(t, map[string]string{"/two": `<title>Two</title>`, "/changes": `<title>Changes</title>`})
	for _, then := range []struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "Error: net::ERR_ABORTED"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=x.bin")
			_, _ = w.Write([]byte("x"))
		}, "Error: net::ERR_ABORTED"},
		{
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, b.other+"/two?SECRET", http.StatusFound)
			},
			"A page was redirected to " + b.other + ", outside the sandbox app, and was closed.",
		},
	} {
		b.answer("/changes", nil)
		b.open("/changes")
		b.open("/two")
		b.answer("/changes", then.answer)
		began := time.Now()
		text := b.refused(then.want, "browser_navigate_back", arg{})
		if strings.Contains(text, "SECRET") {
			t.Errorf("the result tells of the other site: %s", text)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	}
	wants(t, b.open("/two"), "- Page Title: Two")
}

func TestASnapshotDoesNotWaitLongForANavigation(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<title>App</title><button>Here</button>`, "/two": `<title>Two</title>`, "/changes": "changes"})
	hanging, asked := make(chan struct{}), make(chan struct{}, 1)
	t.Cleanup(func() { close(hanging) })
	b.open("/changes")
	b.open("/")
	b.answer("/changes", func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
	})
	other := b.set.Open()
	t.Cleanup(other.Close)
	done := make(chan bool, 1)
	go func() {
		_, failed := callOn(t, b.session, "browser_navigate_back", arg{})
		done <- failed
	}()
	for <-asked; ; {
		began := time.Now()
		text, failed := callOn(t, other, "browser_snapshot", arg{})
		if took := time.Since(began); took > 6*time.Second {
			t.Fatalf("after %v: %s", took, text)
		}
		if failed {
			wants(t, text, "Error: A navigation of this tab is under way and has no answer yet")
			break
		}
	}
	// Another navigation takes its place, and the one that didn't happen is an error.
	if text, failed := callOn(t, other, "browser_navigate", arg{"url": "/two"}); failed || !strings.Contains(text, "- Page Title: Two") {
		t.Fatal(text)
	}
	if !<-done {
		t.Error("going back is called a success")
	}
}
