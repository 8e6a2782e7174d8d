package tools_test

import (
	"strings"
	"testing"
	"time"
)

// result is the text of a call's result section.
func result(text string) string {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "### Result\n"), "\n### ")
	return text
}

func TestTabs(t *testing.T) {
	b := setUp(t, map[string]string{"/one": `<title>One</title>`, "/two": `<title>Second: page</title>`, "/three": `<title>Three</title><p>3`})
	list := func(want ...string) {
		t.Helper()
		if got := b.must("browser_tabs", arg{"action": "list"}); got != "### Result\n"+strings.Join(want, "\n") {
			t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
		}
	}
	one, two, three := "[One]("+b.app+"/one)", "[Second: page]("+b.app+"/two)", "[Three]("+b.app+"/three)"
	list("- 0: (current) [](about:blank)")
	b.open("/one")
	list("- 0: (current) " + one)
	if got, want := b.must("browser_tabs", arg{"action": "new"}), "### Result\n- 0: "+one+"\n- 1: (current) [](about:blank)"; got != want {
		t.Errorf("new: got:\n%s\nwant:\n%s", got, want)
	}
	b.open("/two")
	text := b.must("browser_tabs", arg{"action": "new", "url": "/three"})
	tabs := "- 0: " + one + "\n- 1: " + two + "\n- 2: (current) " + three
	if want := "### Result\n" + tabs + "\n### Ran Playwright code\n```js\nawait page.goto('" + b.app + "/three');\n```\n### Open tabs\n" + tabs +
		"\n### Page\n- Page URL: " + b.app + "/three\n- Page Title: Three\n### Snapshot\n```yaml\n"; !strings.HasPrefix(text, want) {
		t.Errorf("new with url: got:\n%s\nwant:\n%s", text, want)
	}
	if got, want := b.must("browser_tabs", arg{"action": "select", "index": 0}), "### Result\n- 0: (current) "+one+"\n- 1: "+two+"\n- 2: "+three; got != want {
		t.Errorf("select: got:\n%s\nwant:\n%s", got, want)
	}
	if got := b.eval("document.title"); got != `"One"` {
		t.Errorf("the calls go to %s", got)
	}
	for _, c := range []struct {
		args arg
		want string
	}{
		{arg{"action": "select", "index": 9}, "### Error\nError: Tab 9 not found"},
		{arg{"action": "select", "index": -1}, "### Error\nError: Tab -1 not found"},
		{arg{"action": "select", "index": 0.5}, "### Error\nError: Tab 0.5 not found"},
		{arg{"action": "close", "index": 3}, "### Error\nError: Tab 3 not found"},
		{arg{"action": "select"}, "### Error\nError: Tab index is required"},
		{arg{"action": "zap"}, "### Error\nInvalid arguments for tool \"browser_tabs\":\n✖ Invalid option: expected one of \"list\"|\"new\"|\"close\"|\"select\"\n  → at action"},
		{arg{"action": "new", "url": nil}, "expected string, received null\n  → at url"},
	} {
		b.refused(c.want, "browser_tabs", c.args)
	}
	if got, want := b.must("browser_tabs", arg{"action": "close", "index": 1}), "### Result\n- 0: (current) "+one+"\n- 1: "+three; got != want {
		t.Errorf("close another: got:\n%s\nwant:\n%s", got, want)
	}
	if got, want := b.must("browser_tabs", arg{"action": "close"}), "### Result\n- 0: (current) "+three; got != want {
		t.Errorf("close the current one: got:\n%s\nwant:\n%s", got, want)
	}
	// There is always one: the last is replaced.
	if got, want := b.must("browser_tabs", arg{"action": "close"}), "### Result\n- 0: (current) [](about:blank)"; got != want {
		t.Errorf("close the last one: got:\n%s\nwant:\n%s", got, want)
	}
	wants(t, b.open("/one"), "- Page Title: One")
}

func TestANewTabKeepsToTheApp(t *testing.T) {
	b := setUp(t, escapes())
	b.open("/")
	for _, address := range []string{b.other + "/", "file:///etc/passwd", "//x/", "", "about:blank#x", "javascript:alert(1)"} {
		b.refused("Navigation to "+address+" was refused: this browser may only open pages of the sandbox app at "+b.app,
			"browser_tabs", arg{"action": "new", "url": address})
	}
	if n := len(b.browser.Pages()); n != 1 {
		t.Errorf("%d tabs after refusals", n)
	}
	wants(t, b.must("browser_tabs", arg{"action": "new", "url": "about:blank"}), "- 1: (current) [](about:blank)", "- Page URL: about:blank")
	b.withheld("browser_tabs", arg{"action": "new", "url": "/to?url=" + b.other + "/secret?SECRET"})
	if text := b.must("browser_tabs", arg{"action": "list"}); strings.Contains(text, "ecret") {
		t.Errorf("the list has a page that may not be shown: %s", text)
	}
	b.refused("net::ERR_ABORTED", "browser_tabs", arg{"action": "new", "url": "/204"})
}

func TestATabOfTwoSessions(t *testing.T) {
	b := setUp(t, map[string]string{"/one": `<title>One</title><button>1</button>`, "/two": `<title>Two</title><button>2</button>`})
	b.open("/one")
	b.must("browser_tabs", arg{"action": "new", "url": "/two"})
	other := b.set.Open()
	t.Cleanup(other.Close)
	on := func(name string, args any) string {
		t.Helper()
		text, failed := callOn(t, other, name, args)
		if failed {
			t.Fatal(text)
		}
		return text
	}
	wants(t, on("browser_tabs", arg{"action": "list"}), "- 0: (current) [One]", "- 1: [Two]")
	on("browser_tabs", arg{"action": "select", "index": 1})
	wants(t, on("browser_snapshot", arg{}), "- Page Title: Two")
	wants(t, b.must("browser_tabs", arg{"action": "list"}), "- 0: [One]", "- 1: (current) [Two]")
	b.must("browser_tabs", arg{"action": "close"})
	wants(t, on("browser_snapshot", arg{}), "- Page Title: One", `button "1"`)
	on("browser_tabs", arg{"action": "close"})
	wants(t, b.must("browser_snapshot", arg{}), "- Page URL: about:blank")
	wants(t, on("browser_navigate", arg{"url": "/two"}), "- Page Title: Two")
}

func TestTabsThatDoNotAnswer(t *testing.T) {
	b := setUp(t, map[string]string{
		"/alert": `<title>A</title><script>alert("Hi")</script>`, "/": `<title>App</title>`,
		"/hang": `<title>Hang</title>`, "/crash": `<title>Crash</title>`,
	})
	b.open("/")
	within := func(args arg) string {
		t.Helper()
		began := time.Now()
		text := b.must("browser_tabs", args)
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("%v took %v", args, took)
		}
		return text
	}
	text := within(arg{"action": "new", "url": "/alert"})
	line := `- ["alert" dialog with message "Hi"]: can be handled by browser_handle_dialog`
	wants(t, text, "### Modal state\n"+line)
	wants(t, within(arg{"action": "list"}), "- 0: [App]", "- 1: (current) []("+b.app+"/alert)\n### Modal state\n"+line)
	wants(t, within(arg{"action": "new", "url": "/hang"}), "- 2: (current) [Hang]")
	if _, err := b.browser.Pages()[2].Evaluate(t.Context(), "void setTimeout(() => { while (true); })", nil); err != nil {
		t.Fatal(err)
	}
	wants(t, within(arg{"action": "list"}), "- 1: []("+b.app+"/alert)", "- 2: (current) []("+b.app+"/hang)")
	wants(t, within(arg{"action": "new", "url": "/crash"}), "- 3: (current) [Crash]")
	dying := b.browser.Pages()[3]
	_, _ = dying.Navigate(t.Context(), "chrome://crash")
	for deadline := time.After(10 * time.Second); !dying.Crashed(); {
		changed := dying.Changed()
		if dying.Crashed() {
			break
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("the page did not crash")
		}
	}
	wants(t, within(arg{"action": "list"}), "- 3: (current) []("+b.app+"/crash) [crashed]")
	for range 3 {
		text = within(arg{"action": "close", "index": 1})
	}
	if got := result(text); got != "- 0: (current) [App]("+b.app+"/)" {
		t.Errorf("what is left: %s", got)
	}
}
