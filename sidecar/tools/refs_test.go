package tools_test

import (
	"strings"
	"testing"
)

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
