package tools_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/mcp"
)

// keys writes down what a field sees: for a trusted key event its key and code, for input its type and the text.
const keys = `<script>
window.seen = [];
for (const type of ["keydown", "keypress", "keyup", "beforeinput", "input", "change", "submit"]) addEventListener(type, (e) =>
  seen.push([type, e.target.id, e.key ?? e.inputType ?? "", e.code ?? e.data ?? "", e.isTrusted].join(":")), true);
</script>`

func TestTypeReplacesTheContent(t *testing.T) {
	b := setUp(t, map[string]string{"/": keys + `<title>T</title>
<input id=text aria-label=Name value=old> <input id=mail type=email value=a@b> <input id=num type=number value=5>
<input id=secret type=password> <textarea id=area>old</textarea> <div id=ed contenteditable><b>old</b> rest</div>
<label id=lab>Labelled <input id=inner value=old></label> <input id=date type=date value=2024-02-03>
<input id=color type=color> <input id=range type=range> <input id=time type=time> <input id=local type=datetime-local>`})
	page := b.open("/")
	text := b.must("browser_type", arg{"element": "Name", "target": ref(t, page, `"Name"`), "text": "He's \"x\""})
	if want := "### Ran Playwright code\n```js\nawait page.getByRole('textbox', { name: 'Name' }).fill('He\\'s \"x\"');\n```"; text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
	for target, value := range map[string]string{
		"#text": "é漢🎉 and more", "#mail": "ada@app.test", "#num": "-1.5", "#secret": "s3cret", "#area": "a\nb\n", "#ed": "new content",
		"#lab": "by its label", "#date": "2025-01-31", "#color": "#a1b2c3", "#range": "70", "#time": "12:34", "#local": "2025-01-31T10:20",
	} {
		b.must("browser_type", arg{"ref": target, "text": value})
		field := strings.Replace(target, "#lab", "#inner", 1)
		want, _ := json.Marshal(value)
		if got := b.eval("() => { const e = document.querySelector('" + field + "'); return e.value ?? e.innerText }"); got != string(want) {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	wants(t, b.eval("() => seen.join(' ')"), "input:text:insertText:é漢🎉 and more:true", "input:date:::false change:date:::false")
	for _, target := range []string{"#text", "#area", "#ed"} {
		b.must("browser_type", arg{"target": target, "text": ""})
		if got := b.eval("() => { const e = document.querySelector('" + target + "'); return (e.value ?? e.innerText).trim() }"); got != `""` {
			t.Errorf("%s keeps %s", target, got)
		}
	}
}

func TestTypeSlowlyPressesEachKey(t *testing.T) {
	b := setUp(t, map[string]string{"/": keys + `<title>T</title><input id=f aria-label=F value=was>
<form onsubmit="event.preventDefault(); document.title='sent '+g.value"><input id=g aria-label=G></form>`})
	page := b.open("/")
	text := b.must("browser_type", arg{"target": ref(t, page, `"F"`), "text": "aB1! é", "slowly": true})
	wants(t, text, "getByRole('textbox', { name: 'F' }).pressSequentially('aB1! é');", "### Page\n- Page URL: ", "### Snapshot\n```yaml\n")
	var want []string
	for _, k := range [][2]string{{"a", "KeyA"}, {"B", "KeyB"}, {"1", "Digit1"}, {"!", "Digit1"}, {" ", "Space"}} {
		event := ":f:" + k[0] + ":" + k[1] + ":true"
		typed := ":f:insertText:" + k[0] + ":true"
		want = append(want, "keydown"+event, "keypress"+event, "beforeinput"+typed, "input"+typed, "keyup"+event)
	}
	want = append(want, "beforeinput:f:insertText:é:true", "input:f:insertText:é:true")
	encoded, err := json.Marshal(strings.Join(want, "|"))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.eval("() => seen.join('|')"); got != string(encoded) {
		t.Errorf("the page saw\n%s, want\n%s", got, encoded)
	}
	if got := b.eval("() => f.value"); got != `"aB1! éwas"` {
		t.Errorf("the field has %s", got)
	}
	text = b.must("browser_type", arg{"target": ref(t, page, `"G"`), "text": "Q", "slowly": true, "submit": true})
	wants(t, text, ".pressSequentially('Q');\nawait page.getByRole('textbox', { name: 'G' }).press('Enter');\n```", "- Page Title: sent Q")
}

func TestTypeSlowlyKnowsEveryKey(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<input id=f><script>
window.codes = {}; f.addEventListener("keydown", (e) => { codes[e.key] = e.code + " " + e.keyCode; });</script>`})
	b.open("/")
	var all strings.Builder
	for c := ' '; c <= '~'; c++ {
		all.WriteRune(c)
	}
	b.must("browser_type", arg{"target": "#f", "text": all.String(), "slowly": true})
	want, err := json.Marshal(all.String())
	if err != nil {
		t.Fatal(err)
	}
	if got := b.eval("() => encodeURIComponent(f.value)"); got != b.eval("() => encodeURIComponent("+string(want)+")") {
		t.Errorf("the field has %s", got)
	}
	if got := b.eval("() => Object.keys(codes).length"); got != "95" {
		t.Errorf("%s keys were seen", got)
	}
	for key, code := range map[string]string{"~": "Backquote 192", ")": "Digit0 48", "z": "KeyZ 90", "Z": "KeyZ 90", "?": "Slash 191", "'": "Quote 222", " ": "Space 32"} {
		if got := b.eval(`() => codes["` + key + `"]`); got != `"`+code+`"` {
			t.Errorf("%s has %s, want %s", key, got, code)
		}
	}
}

func TestTypeSubmitsTheFormOnce(t *testing.T) {
	b := setUp(t, map[string]string{
		"/":      keys + `<title>Form</title><form action="/found"><input name=q aria-label=Search value=old></form>`,
		"/found": `<title>Found</title><p>Results</p>`,
	})
	target := ref(t, b.open("/"), `"Search"`)
	text := b.must("browser_type", arg{"target": target, "text": "Zed", "submit": true})
	wants(t, text, "getByRole('textbox', { name: 'Search' }).fill('Zed');\nawait page.getByRole('textbox', { name: 'Search' }).press('Enter');",
		"- Page URL: "+b.app+"/found?q=Zed\n- Page Title: Found\n### Snapshot\n", "Results")
}

func TestWhatTakesNoTextSaysWhy(t *testing.T) {
	b := setUp(t, map[string]string{"/": keys + `<h2 id=head>Form</h2> <select id=sel><option>Red</select>
<input id=check type=checkbox> <input id=num type=number value=5> <input id=date type=date value=2024-02-03>
<input id=range type=range value=50> <input id=color type=color value=#112233>
<input id=max maxlength=3 value=old> <input id=cancel value=old> <div id=ed contenteditable>old</div>
<input id=revert value=old> <input id=cut value=old> <input id=format value=old>
<script>
for (const e of [cancel, ed]) e.addEventListener("beforeinput", (event) => event.preventDefault());
revert.addEventListener("input", () => { revert.value = "old" });
cut.addEventListener("input", () => { cut.value = cut.value.slice(0, 3) });
format.addEventListener("input", () => { format.value = format.value.replace(/(\d{3})(\d+)/, "($1) $2") });
</script>`})
	b.open("/")
	ownKeys := []string{"#sel", "#num", "#date", "#range", "#color"} // keys mean something else to them
	for _, c := range []struct{ target, text, want, value string }{
		{"#head", "x", "Error: Element is not an <input>, <textarea>, <select> or [contenteditable] and does not have a role allowing " +
			"[aria-readonly]\nCall log:\n  - waiting for locator('#head')\n    - locator resolved to <h2 id=\"head\">Form</h2>\n    - fill(\"x\")\n" +
			"  - attempting fill action\n    - waiting for element to be visible, enabled and editable\n", ""},
		{"#sel", "Red", "Error: Element is not an <input>, <textarea> or [contenteditable] element\nCall log:", "Red"},
		{"#check", "x", `Error: Input of type "checkbox" cannot be filled`, "on"},
		{"#num", "abc", "Error: Cannot type text into input[type=number]", "5"},
		{"#date", "xx", "Error: Malformed value", "2024-02-03"},
		{"#range", "700", "Error: Malformed value", "50"},
		{"#color", "red", "Error: Malformed value", "#112233"},
		{"#max", "abcdef", "Error: The text has 6 characters, and the field takes 3 at most", "old"},
		{"#cancel", "new", "Error: The field did not take the text; it has its former value", "old"},
		{"#ed", "new", "Error: The field did not take the text; it has its former value", "old"},
		{"#revert", "new", "Error: The field did not take the text; it has its former value", "old"},
		{"#cut", "longer", "Error: The field did not take the text; it has its former value", "old"},
	} {
		for _, slowly := range []bool{false, true} {
			if slowly && slices.Contains(ownKeys, c.target) {
				continue
			}
			want := c.want
			if slowly {
				want = strings.Replace(want, "fill(\"", "pressSequentially(\"", 1)
				if c.target == "#max" {
					want = "Error: The field did not take the text"
				}
			}
			b.refused("### Error\n"+want, "browser_type", arg{"target": c.target, "text": c.text, "slowly": slowly})
			if got := b.eval("() => { const e = document.querySelector('" + c.target + "'); return e.value ?? (e.isContentEditable ? e.innerText : '') }"); got != `"`+c.value+`"` {
				t.Errorf("%s (slowly %v) has %s", c.target, slowly, got)
			}
		}
	}
	// A page may put what is typed in another form.
	b.must("browser_type", arg{"target": "#format", "text": "5551234"})
	if got := b.eval("() => format.value"); got != `"(555) 1234"` {
		t.Errorf("the formatted field has %s", got)
	}
}

func TestTypeWaitsForTheFieldToBeReady(t *testing.T) {
	b := setUp(t, map[string]string{"/": keys + `<input id=ro readonly value=ro> <input id=off disabled value=off> <input id=gone hidden>
<div id=aria role=textbox contenteditable aria-readonly=true>ro</div> <input id=late disabled value=was>
<script>setTimeout(() => late.disabled = false, 500)</script>`})
	b.open("/")
	b.must("browser_type", arg{"target": "#late", "text": "in time"})
	if got := b.eval("() => late.value"); got != `"in time"` {
		t.Errorf("the field has %s", got)
	}
	b.eval("() => { seen.length = 0 }")
	var group sync.WaitGroup
	for target, why := range map[string]string{
		"#ro": "element is not editable", "#off": "element is not enabled", "#gone": "element is not visible", "#aria": "element is not editable",
	} {
		group.Go(func() {
			raw, err := json.Marshal(arg{"target": target, "text": "x"})
			if err != nil {
				t.Error(err)
				return
			}
			result := b.session.Call(t.Context(), "browser_type", raw)
			if !result.IsError {
				t.Errorf("typing into %s is a success", target)
			}
			wants(t, result.Content[0].Text, "TimeoutError: Timeout 5000ms exceeded.\nCall log:\n  - waiting for locator('"+target+"')",
				"waiting for element to be visible, enabled and editable", why)
		})
	}
	group.Wait()
	if got := b.eval("() => [ro.value, off.value, aria.textContent, ...seen].join(' ')"); got != `"ro off ro"` {
		t.Errorf("the page has %s", got)
	}
	b.refused("Ref e99 not found in the current page snapshot.", "browser_type", arg{"target": "e99", "text": "x"})
}

func TestTypeInFramesAndShadowTrees(t *testing.T) {
	b := setUp(t, map[string]string{
		"/": `<iframe src="/inner"></iframe><iframe src="OTHER/inner"></iframe><div id=host></div>
<script>host.attachShadow({mode:"open"}).innerHTML = '<input aria-label=shadow value=old>'</script>`,
		"/inner": `<input value=old><p id=p></p><div contenteditable aria-label=ed role=textbox>old</div><script>
document.querySelector("input").setAttribute("aria-label", location.hostname);
document.querySelector("input").oninput = (e) => { p.textContent = "has " + e.target.value + " " + e.isTrusted };
document.querySelector("div").oninput = (e) => { p.textContent = "editor has " + e.target.innerText + " " + e.isTrusted };</script>`,
	})
	page := b.open("/")
	for _, name := range []string{`"127.0.0.1"`, `"localhost"`} {
		b.must("browser_type", arg{"target": ref(t, page, name), "text": "new"})
		wants(t, b.must("browser_snapshot", arg{}), "paragraph [ref=", ": has new true")
		page = b.must("browser_snapshot", arg{})
		wants(t, b.must("browser_type", arg{"target": ref(t, page, name), "text": "Ab", "slowly": true}), ": has newAb true") // the caret was behind what was typed before
		page = b.must("browser_snapshot", arg{})
		_, rest, _ := strings.Cut(page, name)
		b.must("browser_type", arg{"target": ref(t, rest, `"ed"`), "text": "rich"})
		page = b.must("browser_snapshot", arg{})
		_, rest, _ = strings.Cut(page, name)
		wants(t, rest, ": editor has rich true")
	}
	b.must("browser_type", arg{"target": ref(t, page, `"shadow"`), "text": "deep"})
	if got := b.eval("() => host.shadowRoot.querySelector('input').value"); got != `"deep"` {
		t.Errorf("the field in the shadow tree has %s", got)
	}
}

// Two tabs: one is not in front.
func TestTypeInABackgroundTab(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<input id=f>`})
	b.open("/")
	other := b.set.Open()
	t.Cleanup(other.Close)
	if text, failed := callOn(t, other, "browser_tabs", arg{"action": "new", "url": "/"}); failed {
		t.Fatal(text)
	}
	for _, slowly := range []bool{false, true} {
		b.must("browser_type", arg{"target": "#f", "text": "behind", "slowly": slowly})
		if text, failed := callOn(t, other, "browser_type", arg{"target": "#f", "text": "in front", "slowly": slowly}); failed {
			t.Fatal(text)
		}
	}
	if got := b.eval("() => f.value"); got != `"behindbehind"` {
		t.Errorf("the tab behind has %s", got)
	}
}

func TestTypingEndsWithItsCall(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<input id=f><input id=g><script>
window.count = 0; f.addEventListener("keydown", () => { count++; const end = performance.now() + 20; while (performance.now() < end); });
g.addEventListener("keydown", () => { if (g.value === "ab") alert("enough") });</script>`})
	b.open("/")
	ctx, cancel := context.WithCancel(t.Context())
	raw, err := json.Marshal(arg{"target": "#f", "text": strings.Repeat("x", 500), "slowly": true, "submit": true})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan mcp.Result, 1)
	go func() { done <- b.session.Call(ctx, "browser_type", raw) }()
	deadline := time.Now().Add(10 * time.Second)
	for b.eval("() => count > 3") != "true" {
		if time.Now().After(deadline) {
			t.Fatal("the typing never began")
		}
	}
	cancel()
	if result := <-done; !result.IsError {
		t.Errorf("a cancelled call says %+v", result)
	}
	seen := b.eval("() => count")
	if again := b.eval("() => new Promise((resolve) => setTimeout(() => resolve(count), 500))"); again != seen {
		t.Errorf("the typing went on from %s to %s", seen, again)
	}
	// A dialog in the middle of a text ends the typing as well, and the call doesn't call that a success.
	text := b.refused("Error: A dialog opened before the whole text was typed.", "browser_type", arg{"target": "#g", "text": "abcdef", "slowly": true})
	wants(t, text, `### Modal state`+"\n"+`- ["alert" dialog with message "enough"]: can be handled by browser_handle_dialog`)
	b.must("browser_handle_dialog", arg{"accept": true})
	if got := b.eval("() => g.value"); strings.Contains(got, "d") {
		t.Errorf("the typing went on: %s", got)
	}
}
