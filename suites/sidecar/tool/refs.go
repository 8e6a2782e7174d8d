package tool

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// press is a page whose button counts; what a stale ref could touch is the same on every page.
const press = `<title>Press</title><button id=press onclick="count++">Press</button><input id=field aria-label=Field value=kept>
<script>window.count = 0</script>`

func refs(l *lab.Lab) {
	// "A ref that is old … or invented makes the call an error, and nothing on the page is touched."
	It("refuses refs that are old or invented", engine.Clause("tool.stale-ref"), func(ctx SpecContext) {
		attack.Serve(l, "/one", press)
		attack.Serve(l, "/two", press)
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, "/one")
		page := snapshot(ctx, session)
		button, field := ref(page, "button", "Press"), ref(page, "textbox", "Field")
		untouched := func(did string) {
			GinkgoHelper()
			Expect(read[int](ctx, session, "count")).To(BeZero(), "the clicks that the page saw after %s", did)
			Expect(read[string](ctx, session, "document.getElementById('field').value")).To(Equal("kept"), "what the field has after %s", did)
		}
		refuse := func(did, button, field string) {
			GinkgoHelper()
			fail(ctx, session, "browser_click", map[string]any{"target": button})
			fail(ctx, session, "browser_type", map[string]any{"target": field, "text": "touched"})
			untouched(did)
		}
		for _, invented := range []string{"e9999", "f99e1", "e0", "f0e0"} {
			refuse("using the ref "+invented, invented, invented)
		}
		read[bool](ctx, session, "(document.getElementById('press').outerHTML += '', document.getElementById('field').outerHTML += '', true)")
		refuse("using refs of elements that were replaced", button, field)
		open(ctx, l, session, "/one")
		page = snapshot(ctx, session)
		button, field = ref(page, "button", "Press"), ref(page, "textbox", "Field")
		open(ctx, l, session, "/two")
		refuse("using refs of the page before", button, field)
		page = snapshot(ctx, session)
		refuse("using refs of the page before, with a snapshot of the new one", button, field)
		do(ctx, session, "browser_click", map[string]any{"target": ref(page, "button", "Press")})
		Expect(read[int](ctx, session, "count")).To(Equal(1), "the control: the clicks by a ref that is good")
		do(ctx, session, "browser_type", map[string]any{"target": ref(page, "textbox", "Field"), "text": "touched"})
		Expect(read[string](ctx, session, "document.getElementById('field').value")).To(Equal("touched"), "the control: the text by a ref that is good")
	})

	// "A ref that is … of another session … makes the call an error, and nothing on the page is touched."
	It("refuses refs of another session", engine.Clause("tool.stale-ref"), func(ctx SpecContext) {
		attack.Serve(l, "/one", press)
		s := attack.Start(ctx, l, nil)
		session, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		open(ctx, l, session, "/one")
		button := ref(snapshot(ctx, session), "button", "Press")
		selectPage(ctx, l, other, "/one")
		Expect(at(ctx, other)).To(Equal("/one"), "the control: where the other session's calls go")
		fail(ctx, other, "browser_click", map[string]any{"target": button})
		Expect(read[int](ctx, session, "count")).To(BeZero(), "the clicks that the page saw")
		do(ctx, session, "browser_click", map[string]any{"target": button})
		Expect(read[int](ctx, session, "count")).To(Equal(1), "the control: the clicks by the session's own ref")
	})
}
