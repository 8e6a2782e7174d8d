package tool

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func typing(l *lab.Lab) {
	// "`browser_type` replaces the field's content by the text, in inputs, textareas and contenteditable elements, and the
	// page sees an input event."
	DescribeTable("replaces the content of", func(ctx SpecContext, name, role, id, text string) {
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, eventsPage)
		before := values(ctx, session)
		target := ref(snapshot(ctx, session), role, name)
		do(ctx, session, "browser_type", map[string]any{"element": name, "target": target, "text": text})
		after := values(ctx, session)
		Expect(after[id]).To(Equal(text), "what the field %s has after %q was typed into it", id, text)
		for other, value := range before {
			if other != id {
				Expect(after[other]).To(Equal(value), "what another field, %s, has after %q was typed into %s", other, text, id)
			}
		}
		Expect(on(seen(ctx, session), id, "input")).NotTo(BeEmpty(), "the input events that the field %s saw", id)
	},
		Entry("a text input", engine.Clause("tool.effects-type"), "Name", "textbox", "name", `He's "new" – naïve 漢字 🎉`),
		Entry("a search input", engine.Clause("tool.effects-type"), "Search", "searchbox", "search", "new search"),
		Entry("an e-mail input", engine.Clause("tool.effects-type"), "Mail", "textbox", "mail", "new@app.test"),
		Entry("a number input", engine.Clause("tool.effects-type"), "Number", "spinbutton", "number", "-42.5"),
		Entry("a password input", engine.Clause("tool.effects-type"), "Password", "textbox", "password", "new password"),
		Entry("an empty input", engine.Clause("tool.effects-type"), "Empty", "textbox", "empty", "no longer"),
		Entry("a textarea", engine.Clause("tool.effects-type"), "Notes", "textbox", "notes", "new\nnotes\n\nof four lines"),
		Entry("a contenteditable element", engine.Clause("tool.effects-type"), "Editor", "textbox", "editor", "new plain text"),
	)

	// "… replaces the field's content …", by nothing too.
	It("empties a field by the empty text", engine.Clause("tool.effects-type"), func(ctx SpecContext) {
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, eventsPage)
		for _, id := range []string{"name", "notes", "editor"} {
			do(ctx, session, "browser_type", map[string]any{"target": "#" + id, "text": ""})
			Expect(values(ctx, session)[id]).To(BeEmpty(), "what the field %s has after the empty text was typed into it", id)
			Expect(on(seen(ctx, session), id, "input")).NotTo(BeEmpty(), "the input events that the field %s saw", id)
		}
	})
}

func typingSlowly(l *lab.Lab) {
	// "`browser_type` with `slowly` makes the page see keydown and keyup for each character, in order."
	DescribeTable("presses a key for each character, slowly", func(ctx SpecContext, id, text string) {
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, eventsPage)
		read[bool](ctx, session, "(document.getElementById('editor').textContent = '', true)")
		do(ctx, session, "browser_type", map[string]any{"target": "#" + id, "text": text, "slowly": true})
		events := seen(ctx, session)
		Expect(keys(on(events, id, "keydown"))).To(Equal(text), "the keys that the field %s saw going down", id)
		Expect(keys(on(events, id, "keyup"))).To(Equal(text), "the keys that the field %s saw going up", id)
		down := ""
		for _, e := range on(events, id, "keydown", "keyup") {
			if e.Type == "keydown" {
				down += e.Key
				continue
			}
			Expect(down).To(ContainSubstring(e.Key), "the keys that went down before %q went up", e.Key)
		}
		Expect(values(ctx, session)[id]).To(Equal(text), "what the field %s has", id)
	},
		Entry("in an input", engine.Clause("tool.effects-type-slowly"), "empty", "Slow 29, a-Z!"),
		Entry("in a contenteditable element", engine.Clause("tool.effects-type-slowly"), "editor", "slowly (too)"),
	)
}

func submitting(l *lab.Lab) {
	// "`browser_type` with `submit` presses Enter after the text, and the form is submitted once."
	DescribeTable("submits a form that leads to another page", func(ctx SpecContext, slowly bool) {
		attack.Serve(l, "/sent", "<title>Sent</title><h1>It arrived</h1>")
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, eventsPage)
		if slowly {
			do(ctx, session, "browser_type", map[string]any{"target": "#query", "text": ""})
		}
		text := do(ctx, session, "browser_type", map[string]any{
			"target": "#query", "text": "new query", "submit": true, "slowly": slowly,
		})
		Expect(text).To(ContainSubstring("It arrived"), "the snapshot in the result of browser_type")
		Expect(read[string](ctx, session, "location.pathname")).To(Equal("/sent"), "where the page is after the form was sent")
		var targets []string
		for _, r := range l.Sites.RequestsTo(l.AppAddr().String(), "/sent") {
			targets = append(targets, r.Target)
		}
		Expect(targets).To(Equal([]string{"/sent?query=new+query"}), "the forms that arrived at the app")
	},
		Entry("at once", engine.Clause("tool.effects-type-submit"), false),
		Entry("slowly", engine.Clause("tool.effects-type-submit"), true),
	)

	// "… presses Enter after the text …", and only when asked.
	It("submits a form that its page handles once, and not without submit", engine.Clause("tool.effects-type-submit"), func(ctx SpecContext) {
		session := attack.Connect(ctx, attack.Sidecar(ctx, l))
		open(ctx, l, session, eventsPage)
		do(ctx, session, "browser_type", map[string]any{"target": "#answer", "text": "first"})
		Expect(on(seen(ctx, session), "handled", "submit")).To(BeEmpty(), "the forms that were submitted without submit")
		do(ctx, session, "browser_type", map[string]any{"target": "#answer", "text": "second", "submit": true})
		events := seen(ctx, session)
		Expect(on(events, "handled", "submit")).To(HaveLen(1), "the forms that were submitted; the page saw %v", events)
		Expect(enters(on(events, "answer", "keydown"))).To(Equal(1), "how often the field saw Enter; the page saw %v", events)
		Expect(values(ctx, session)["answer"]).To(Equal("second"), "what the field has")
	})
}

// values are what the fields of the page of events have now, by their ids.
func values(ctx context.Context, session *lab.Session) map[string]string {
	GinkgoHelper()
	return read[map[string]string](ctx, session, "values()")
}

// seen is what the page of events saw so far.
func seen(ctx context.Context, session *lab.Session) []event {
	GinkgoHelper()
	return read[[]event](ctx, session, "seen")
}

// on keeps the events of an element that have one of the types.
func on(events []event, id string, types ...string) []event {
	var kept []event
	for _, e := range events {
		for _, wanted := range types {
			if e.ID == id && e.Type == wanted {
				kept = append(kept, e)
			}
		}
	}
	return kept
}

// keys joins the characters of key events. A Shift that goes with a capital is no character.
func keys(events []event) string {
	var text strings.Builder
	for _, e := range events {
		if e.Key != "Shift" {
			text.WriteString(e.Key)
		}
	}
	return text.String()
}

func enters(events []event) int {
	n := 0
	for _, e := range events {
		if e.Key == "Enter" {
			n++
		}
	}
	return n
}
