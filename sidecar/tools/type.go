package tools

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// typingLimit bounds a text that is typed key by key; each key may take as long as an action.
const typingLimit = 20 * time.Second

func typeText() *tool {
	return &tool{
		name: "browser_type", title: "Type text",
		description: "Type text into a field, in place of what is in it",
		fields: []field{
			{name: "element", kind: text, description: elementHelp},
			{name: "target", kind: text, required: true, formerly: "ref", description: targetHelp},
			{name: "text", kind: text, required: true, description: "The text to type"},
			{name: "submit", kind: boolean, description: "Whether to press Enter afterwards"},
			{
				name: "slowly", kind: boolean,
				description: "Whether to type key by key into what is there, for pages that listen to keys",
			},
		},
		run: runType,
	}
}

func runType(ctx context.Context, c *call) error {
	t := typing{
		typist: typist{c.page}, text: c.args.text("text"), slowly: c.args.boolean("slowly"), submit: c.args.boolean("submit"),
	}
	method := "fill"
	if t.slowly {
		method = "pressSequentially"
	}
	mark := c.page.Mark()
	action := action{
		page: c.page, session: c.id, target: c.args.text("target"), verb: "fill",
		states: "visible, enabled and editable", detail: method + "(" + strconv.Quote(t.text) + ")",
	}
	words, err := action.until(ctx, func(bounded context.Context, e *browser.Element) error { return t.into(ctx, bounded, e) })
	if words.Locator != "" {
		c.ran(fmt.Sprintf("await page.%s.%s(%s);", words.Locator, method, quoteJS(t.text)))
		if t.submit {
			c.ran("await page." + words.Locator + ".press('Enter');")
		}
	}
	if errors.Is(err, errInterrupted) {
		if !t.sent {
			c.fail("Error: A dialog opened before the whole text was typed.")
		}
	} else if err != nil {
		return err
	}
	if t.slowly || t.submit {
		c.snapshot = &aria.Options{Session: c.id, Depth: -1}
		if err == nil {
			settle(ctx, c.page, mark)
		}
	}
	return nil
}

// typing is a text on its way into a field.
type typing struct {
	typist
	text   string
	slowly bool
	submit bool
	sent   bool // everything, Enter too, went to the page
}

// into types into the field, once it is ready for it within bounded; ctx bounds what follows.
func (t *typing) into(ctx, bounded context.Context, e *browser.Element) error {
	unlock, err := t.page.LockInput(bounded)
	if err != nil {
		return err
	}
	defer unlock()
	done, err := aria.BeginText(bounded, e, t.text, t.slowly)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, typingLimit, &timeoutError{limit: typingLimit, log: []string{"  - typing"}})
	defer cancel()
	if !done {
		if err := t.characters(ctx); err != nil {
			return err
		}
		err := t.step(ctx, func(ctx context.Context) error { return aria.EndText(ctx, e) })
		if err != nil && !errors.Is(err, browser.ErrGone) { // the text led to another document
			return err
		}
	}
	t.sent = !t.submit
	if !t.submit {
		return nil
	}
	if err := t.step(ctx, func(ctx context.Context) error { return aria.FocusText(ctx, e) }); err != nil {
		return err
	}
	return t.step(ctx, func(ctx context.Context) error {
		t.sent = true
		return t.press(ctx, enterKey())
	})
}

// characters sends the text, as a whole or key by key.
func (t *typing) characters(ctx context.Context) error {
	parts := []string{t.text}
	send := t.insert
	switch {
	case t.slowly:
		parts = strings.Split(t.text, "")
		send = t.character
	case t.text == "":
		send = func(ctx context.Context, _ string) error { return t.press(ctx, deleteKey()) }
	}
	for i, part := range parts {
		if err := t.step(ctx, func(ctx context.Context) error {
			t.sent = !t.submit && i == len(parts)-1
			return send(ctx, part)
		}); err != nil {
			return err
		}
	}
	return nil
}

// step is one thing that the page has to answer within an action's limit: a page that hangs doesn't hold up the call.
func (t *typing) step(ctx context.Context, do func(context.Context) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("typing: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, actionLimit, &timeoutError{limit: actionLimit, log: []string{"  - typing"}})
	defer cancel()
	return do(ctx)
}
