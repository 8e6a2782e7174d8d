package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

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
