package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/sidecar/browser"
	"github.com/browser-sidecar/conformance/sidecar/mcp"
	"github.com/browser-sidecar/conformance/sidecar/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a browser with tools over an app of given pages, and one session.
type bench struct {
	t       *testing.T
	browser *browser.Browser
	set     *tools.Set
	session mcp.Session
	app     string // the app's origin, on 127.0.0.1
	other   string // another site's origin, on localhost
}

// setUp serves the pages; in them, OTHER stands for the other site's origin. The path /to?url=… redirects.
func setUp(t *testing.T, pages map[string]string) *bench {
	t.Helper()
	if _, ok := browser.Find(); !ok {
		if os.Getenv("CI") == "true" {
			t.Fatal("Chromium is missing")
		}
		t.Skip("Chromium is missing")
	}
	b := &bench{t: t}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/to":
			http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
			return
		case "/204", "/favicon.ico":
			w.WriteHeader(http.StatusNoContent)
			return
		}
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.ReplaceAll(page, "OTHER", b.other))
	})
	app, other := httptest.NewServer(handler), httptest.NewServer(handler)
	t.Cleanup(app.Close)
	t.Cleanup(other.Close)
	b.app, b.other = app.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	u, err := url.Parse(b.app)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b.browser, err = browser.Start(ctx, browser.Options{
		Profile: t.TempDir(), Downloads: t.TempDir(), Sandbox: os.Geteuid() != 0, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.browser.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	b.set = tools.New(tools.Options{Browser: b.browser, App: u, Output: t.TempDir(), Workdir: t.TempDir()})
	b.session = b.set.Open()
	t.Cleanup(b.session.Close)
	return b
}

// call runs a tool and returns its text, and whether it was an error.
func (b *bench) call(name string, args any) (string, bool) {
	b.t.Helper()
	return callOn(b.t, b.session, name, args)
}

func callOn(t *testing.T, s mcp.Session, name string, args any) (string, bool) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	result := s.Call(ctx, name, raw)
	if len(result.Content) != 1 || result.Content[0].Type != "text" {
		t.Fatalf("%s: content %+v", name, result.Content)
	}
	return result.Content[0].Text, result.IsError
}

// must runs a tool that has to succeed.
func (b *bench) must(name string, args any) string {
	b.t.Helper()
	text, failed := b.call(name, args)
	if failed {
		b.t.Fatalf("%s %v failed: %s", name, args, text)
	}
	return text
}

// refused runs a tool that has to fail with a text that contains want.
func (b *bench) refused(want, name string, args any) string {
	b.t.Helper()
	text, failed := b.call(name, args)
	if !failed || !strings.Contains(text, want) {
		b.t.Fatalf("%s %v: want an error with %q, got (error %v): %s", name, args, want, failed, text)
	}
	return text
}

func (b *bench) open(path string) string {
	b.t.Helper()
	return b.must("browser_navigate", arg{"url": path})
}

// eval returns what an expression is in the page, as JSON text.
func (b *bench) eval(code string) string {
	b.t.Helper()
	text := b.must("browser_evaluate", arg{"function": code})
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "### Result\n"), "\n### ")
	return text
}

// ref finds the ref of the line that contains what.
func ref(t *testing.T, snapshot, what string) string {
	t.Helper()
	for line := range strings.SplitSeq(snapshot, "\n") {
		if strings.Contains(line, what) {
			if m := regexp.MustCompile(`\[ref=([a-z0-9]+)\]`).FindStringSubmatch(line); m != nil {
				return m[1]
			}
		}
	}
	t.Fatalf("no ref for %q in:\n%s", what, snapshot)
	return ""
}

type arg map[string]any

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in:\n%s", part, text)
		}
	}
}

func TestNavigateShowsThePage(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<title>Start</title><h1>Hello</h1><a href="/two">Two</a>`, "/two": "<title>2</title>two"})
	got := b.open("/")
	want := "### Ran Playwright code\n```js\nawait page.goto('" + b.app + "/');\n```\n### Page\n- Page URL: " + b.app +
		"/\n- Page Title: Start\n### Snapshot\n```yaml\n- generic [active] [ref=e1]:\n  - heading \"Hello\" [level=1] [ref=e2]\n" +
		"  - link \"Two\" [ref=e3] [cursor=pointer]:\n    - /url: /two\n```"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	wants(t, b.open("/missing"), "- HTTP status: 404 Not Found")
	wants(t, b.open(b.app+"/two"), "- Page Title: 2", "two")
	wants(t, b.open("about:blank"), "- Page URL: about:blank", "```yaml\n\n```")
	b.refused("net::ERR_ABORTED", "browser_navigate", arg{"url": "/204"})
}

func TestRefsOfAnEarlierDocumentAreVoid(t *testing.T) {
	b := setUp(t, map[string]string{
		"/":    `<button onclick="document.title='hit'">One</button>`,
		"/two": `<button onclick="document.title='hit'">One</button>`,
	})
	old := ref(t, b.open("/"), `"One"`)
	next := ref(t, b.open("/two"), `"One"`)
	if old == next {
		t.Fatalf("both documents call it %s", old)
	}
	b.refused("Ref "+old+" not found in the current page snapshot. Try capturing new snapshot.", "browser_click", arg{"target": old})
	b.refused("Ref e99 not found", "browser_click", arg{"target": "e99"})
	b.refused("Ref f99e1 not found", "browser_click", arg{"target": "f99e1"})
	if got := b.eval("document.title"); got != `""` {
		t.Errorf("the page was touched: title %s", got)
	}
	wants(t, b.must("browser_click", arg{"ref": next}), "- Page Title: hit", "getByRole('button', { name: 'One' }).click();")
}

const logger = `<script>
window.seen = [];
for (const type of ["mousedown", "click", "dblclick", "auxclick", "contextmenu"]) addEventListener(type, (e) => seen.push(
  [e.type, e.target.id, e.button, e.detail, e.isTrusted, [e.altKey && "A", e.ctrlKey && "C", e.metaKey && "M", e.shiftKey && "S"].filter(Boolean).join("")].join(":")), true);
</script>`

func TestClickIsTrustedAndHasItsVariants(t *testing.T) {
	b := setUp(t, map[string]string{"/": logger + `<button id=b>B</button>`})
	target := ref(t, b.open("/"), `"B"`)
	for _, c := range []struct {
		args arg
		want []string
		code string
	}{
		{arg{}, []string{"click:b:0:1:true:"}, ".click();"},
		{arg{"doubleClick": true}, []string{"dblclick:b:0:2:true:"}, ".dblclick();"},
		{arg{"button": "right"}, []string{"contextmenu:b:2:0:true:"}, ".click({\n  button: 'right'\n});"},
		{arg{"button": "middle"}, []string{"auxclick:b:1:1:true:"}, "button: 'middle'"},
		{arg{"modifiers": []string{"Shift", "Control"}}, []string{"click:b:0:1:true:CS"}, "modifiers: ['ControlOrMeta', 'Shift']"},
	} {
		c.args["target"] = target
		b.eval("() => { seen.length = 0 }")
		wants(t, b.must("browser_click", c.args), c.code, "### Snapshot\n```yaml\n")
		wants(t, b.eval("() => seen.join(' ')"), c.want...)
	}
}

func TestActionability(t *testing.T) {
	b := setUp(t, map[string]string{"/": logger + `
<button id=off disabled>Off</button> <button id=gone style="visibility:hidden">Gone</button>
<div style="position:relative"><button id=under>Under</button><div id=over style="position:absolute;inset:0">Over</div></div>
<div style="height:3000px"></div><button id=far>Far</button>
<button id=late disabled>Late</button><script>setTimeout(() => late.disabled = false, 700)</script>`})
	page := b.open("/")
	wants(t, b.must("browser_click", arg{"target": ref(t, page, `"Late"`)}), "Late")
	wants(t, b.must("browser_click", arg{"target": ref(t, page, `"Far"`)}), "Far")
	if got := b.eval("() => seen.filter(s => s.startsWith('click')).join(' ')"); got != `"click:late:0:1:true: click:far:0:1:true:"` {
		t.Errorf("clicks %s", got)
	}
	b.eval("() => { seen.length = 0 }")
	for target, why := range map[string]string{
		ref(t, page, `"Off"`):   "element is not enabled",
		"#gone":                 "element is not visible",
		ref(t, page, `"Under"`): `<div id="over">Over</div> intercepts pointer events`,
	} {
		began := time.Now()
		text := b.refused(why, "browser_click", arg{"target": target})
		wants(t, text, "TimeoutError: Timeout 5000ms exceeded.\nCall log:\n  - waiting for locator(")
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %v", took)
		}
	}
	if got := b.eval("() => seen.join(' ')"); got != `""` {
		t.Errorf("the page saw %s", got)
	}
	b.refused(`"#nothing" does not match any elements.`, "browser_click", arg{"target": "#nothing"})
	b.refused("strict mode violation: locator('button') resolved to 5 elements", "browser_click", arg{"target": "button"})
	b.refused("while parsing css selector", "browser_click", arg{"target": "???"})
}

func TestClickNeverHitsWhatMovedUnderThePointer(t *testing.T) {
	// The buttons trade places as soon as the pointer comes near, after the click's place was checked.
	b := setUp(t, map[string]string{"/": logger + `<style>button{position:absolute;left:10px;width:200px;height:40px}</style>
<button id=keep style="top:10px">Keep</button><button id=del style="top:100px">Delete</button>
<script>
let moves = 0;
addEventListener("mousemove", () => { if (moves++ < 3) [keep.style.top, del.style.top] = [del.style.top, keep.style.top]; });
</script>`})
	b.must("browser_click", arg{"target": ref(t, b.open("/"), `"Keep"`)})
	got := b.eval("() => seen.join(' ')")
	if strings.Contains(got, ":del:") || !strings.Contains(got, "click:keep:") {
		t.Errorf("the page saw %s", got)
	}
}

func TestARecycledElementIsNoLongerWhatItsRefNamed(t *testing.T) {
	b := setUp(t, map[string]string{"/": logger + `<button id=row>Archive row 1</button>`})
	target := ref(t, b.open("/"), `"Archive row 1"`)
	b.eval("() => { row.textContent = 'Delete row 9' }")
	b.refused("Ref "+target+" not found", "browser_click", arg{"target": target})
	if got := b.eval("() => seen.join(' ')"); got != `""` {
		t.Errorf("the page saw %s", got)
	}
}

func TestFramesAndShadowTrees(t *testing.T) {
	b := setUp(t, map[string]string{
		"/": `<title>Top</title><p style="height:150px">x</p><iframe src="/inner" style="border:7px solid;padding:5px"></iframe>
<iframe src="OTHER/inner" style="margin-top:900px"></iframe><div id=host></div>
<script>host.attachShadow({mode:"open"}).innerHTML = '<button onclick="document.title=\'shadow hit\'">Shadow</button>'</script>`,
		"/inner": `<button onclick="this.textContent='hit '+event.isTrusted">` + "${location.hostname}" + `</button>
<script>document.querySelector("button").textContent = location.hostname</script>`,
	})
	page := b.open("/")
	for _, name := range []string{`"127.0.0.1"`, `"localhost"`} {
		target := ref(t, page, name)
		if !strings.HasPrefix(target, "f") {
			t.Errorf("%s is called %s", name, target)
		}
		page = b.must("browser_click", arg{"target": target})
		wants(t, page, `button "hit true"`)
		if strings.Contains(page, name) {
			t.Errorf("%s is still there", name)
		}
	}
	wants(t, b.must("browser_click", arg{"target": ref(t, page, `"Shadow"`)}), "- Page Title: shadow hit")
	if got := b.must("browser_evaluate", arg{"target": ref(t, page, `"hit true"`), "function": "el => [el.tagName, location.pathname]"}); !strings.Contains(got, "\"BUTTON\",\n  \"/inner\"") {
		t.Error(got)
	}
}

func TestAFrameThatNavigatesGetsNewRefs(t *testing.T) {
	b := setUp(t, map[string]string{
		"/":     `<iframe src="/a"></iframe>`,
		"/a":    `<button onclick="location='/b'">Next</button>`,
		"/b":    `<button onclick="document.title='hit'">Delete</button>`,
		"/slow": "",
	})
	old := ref(t, b.open("/"), `"Next"`)
	page := b.must("browser_click", arg{"target": old})
	wants(t, page, `"Delete"`)
	if next := ref(t, page, `"Delete"`); next == old {
		t.Errorf("%s names another element now", old)
	}
	b.refused("Ref "+old+" not found", "browser_click", arg{"target": old})
}

func TestDialogs(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<title>D</title>
<button onmousedown="alert('Down')">Down</button><button onclick="document.title='free'">Free</button><button onclick="alert('Hi')">Alert</button><button onclick="document.title='said '+prompt('Name?','Bob')">Prompt</button>`})
	page := b.open("/")
	line := `- ["alert" dialog with message "Hi"]: can be handled by browser_handle_dialog`
	began := time.Now()
	text := b.must("browser_click", arg{"target": ref(t, page, `"Alert"`)})
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the click took %v", took)
	}
	wants(t, text, "### Modal state\n"+line, `getByRole('button', { name: 'Alert' }).click();`)
	for _, name := range []string{"browser_snapshot", "browser_navigate", "browser_evaluate"} {
		args := arg{"url": "/", "function": "1"}
		b.refused("Error: Tool \""+name+"\" does not handle the modal state.\n### Modal state\n"+line, name, args)
	}
	b.must("browser_handle_dialog", arg{"accept": true})
	b.refused("can only be used when there is related modal state present", "browser_handle_dialog", arg{"accept": true})
	page = b.must("browser_snapshot", arg{})
	wants(t, b.must("browser_click", arg{"target": ref(t, page, `"Prompt"`)}), `"prompt" dialog with message "Name?"`)
	b.must("browser_handle_dialog", arg{"accept": true, "promptText": "Ada"})
	wants(t, b.must("browser_snapshot", arg{}), "- Page Title: said Ada")
	// A dialog that opens while the button is down leaves nothing behind for the next click.
	page = b.must("browser_snapshot", arg{})
	wants(t, b.must("browser_click", arg{"target": ref(t, page, `"Down"`)}), `"alert" dialog with message "Down"`)
	b.must("browser_handle_dialog", arg{"accept": true})
	page = b.must("browser_snapshot", arg{})
	wants(t, b.must("browser_click", arg{"target": ref(t, page, `"Free"`)}), "- Page Title: free")
	// A dialog that code of an agent opens interrupts the call; the code goes on once it is answered.
	wants(t, b.must("browser_evaluate", arg{"function": "() => { document.title = 'ok ' + confirm('Sure?') }"}), `"confirm" dialog`)
	b.must("browser_handle_dialog", arg{"accept": false})
	wants(t, b.must("browser_snapshot", arg{}), "- Page Title: ok false")
}

func TestEvaluate(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<meta http-equiv=Content-Security-Policy content="default-src 'none'"><title>E</title><p id=p>para</p>`})
	b.open("/")
	for code, want := range map[string]string{
		"document.title":                       `"E"`,
		"() => {}":                             "undefined",
		"() => null":                           "null",
		"async () => { await null; return 7 }": "7",
		"() => ({a: NaN, d: new Date(0), m: new Map([[1, 2]])})": "{\n  \"a\": null,\n  \"d\": \"1970-01-01T00:00:00.000Z\",\n  \"m\": {}\n}",
		"() => document.body": `"ref: <Node>"`,
		"() => window":        `"ref: <Window>"`,
		"() => '\\ud800'":     `"\ud800"`,
	} {
		if got := b.eval(code); got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	wants(t, b.must("browser_evaluate", arg{"target": "#p", "function": "(el) => el.textContent"}), `"para"`, "await page.getByText('para').evaluate(")
	wants(t, b.must("browser_evaluate", arg{"function": "document.title"}), "await page.evaluate('() => (document.title)');")
	wants(t, b.refused("Error: boom", "browser_evaluate", arg{"function": "() => { throw new Error('boom') }"}), "### Error\nError: boom")
	b.refused("SyntaxError", "browser_evaluate", arg{"function": "() => {"})
	b.refused("Do not know how to serialize a BigInt", "browser_evaluate", arg{"function": "() => 10n"})
	b.refused("Converting circular structure to JSON", "browser_evaluate", arg{"function": "() => { const a = {}; a.a = a; return a }"})
}

func TestBadCalls(t *testing.T) {
	b := setUp(t, nil)
	for _, c := range []struct {
		name, args, want string
	}{
		{"browser_nope", `{}`, "### Error\nTool \"browser_nope\" not found"},
		{"browser_run_code_unsafe", `{"code":"1"}`, `Tool "browser_run_code_unsafe" not found`},
		{"browser_click", `{"element":"x"}`, "### Error\nInvalid arguments for tool \"browser_click\":\n✖ Invalid input: expected string, received undefined\n  → at target"},
		{"browser_click", `{"target":5}`, "✖ Invalid input: expected string, received number\n  → at target"},
		{
			"browser_click", `{"target":"e1","button":"third","modifiers":["Hyper"]}`,
			"✖ Invalid option: expected one of \"left\"|\"right\"|\"middle\"\n  → at button\n" +
				"✖ Invalid option: expected one of \"Alt\"|\"Control\"|\"ControlOrMeta\"|\"Meta\"|\"Shift\"\n  → at modifiers[0]",
		},
		{"browser_snapshot", `{"depth":-1}`, "✖ Too small: expected number to be >=0\n  → at depth"},
		{"browser_navigate", `{}`, "expected string, received undefined\n  → at url"},
		{"browser_navigate", `[1]`, "expected object, received array"},
		{"browser_navigate", `{"url":null}`, "expected string, received null\n  → at url"},
		{"browser_navigate", `{`, "not JSON"},
	} {
		result := b.session.Call(t.Context(), c.name, json.RawMessage(c.args))
		if !result.IsError || !strings.Contains(result.Content[0].Text, c.want) {
			t.Errorf("%s %s: got %s", c.name, c.args, result.Content[0].Text)
		}
	}
}

func TestSessionsHaveTheirOwnRefs(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<button>One</button>`})
	target := ref(t, b.open("/"), `"One"`)
	other := b.set.Open()
	t.Cleanup(other.Close)
	if text, failed := callOn(t, other, "browser_click", arg{"target": target}); !failed || !strings.Contains(text, "not found") {
		t.Errorf("a ref of another session worked: %s", text)
	}
	text, _ := callOn(t, other, "browser_snapshot", arg{})
	if _, failed := callOn(t, other, "browser_click", arg{"target": ref(t, text, `"One"`)}); failed {
		t.Error("a session's own ref did not work")
	}
	b.must("browser_click", arg{"target": target})
}

func TestPartsOfASnapshot(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<main><h1>T</h1><ul><li>One</li><li><a href=/x>Two</a></li></ul></main><p>after</p>`})
	page := b.open("/")
	part := b.must("browser_snapshot", arg{"target": "ul"})
	wants(t, part, "```yaml\n- list [ref=")
	if strings.Contains(part, "after") {
		t.Errorf("more than the list: %s", part)
	}
	// Refs outside the part are void now.
	b.refused("not found", "browser_click", arg{"target": ref(t, page, "paragraph")})
	wants(t, b.must("browser_snapshot", arg{"depth": 1}), "- main [ref=")
	if got := b.must("browser_snapshot", arg{"depth": 1}); strings.Contains(got, "listitem") {
		t.Errorf("deeper than asked: %s", got)
	}
	wants(t, b.must("browser_snapshot", arg{"boxes": true}), "[box=8,")
}

func TestAHungPageAndACrashedOne(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<title>Fine</title><button id=b onclick="while(true);">Hang</button>`})
	target := ref(t, b.open("/"), `"Hang"`)
	began := time.Now()
	b.refused("TimeoutError", "browser_click", arg{"target": target})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	// A renderer that dies is told, and the next navigation revives the tab.
	crash := setUp(t, map[string]string{"/": `<title>Fine</title>`})
	crash.open("/")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, _ = crash.browser.Pages()[0].Navigate(ctx, "chrome://crash")
	crash.refused("crashed", "browser_snapshot", arg{})
	wants(t, crash.open("/"), "- Page Title: Fine")
}
