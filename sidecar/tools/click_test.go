package tools_test

import (
	"strings"
	"testing"
	"time"
)

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
