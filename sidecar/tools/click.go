package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/input"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

func click() *tool {
	return &tool{
		name: "browser_click", title: "Click",
		description: "Click an element of the page",
		fields: []field{
			{name: "element", kind: text, description: elementHelp},
			{name: "target", kind: text, required: true, formerly: "ref", description: targetHelp},
			{name: "doubleClick", kind: boolean, description: "Click twice, as a double click"},
			{
				name: "button", kind: text, options: []string{"left", "right", "middle"},
				description: "The mouse button, left unless told",
			},
			{
				name: "modifiers", kind: list, description: "Keys to hold down meanwhile",
				item: &field{kind: text, options: []string{"Alt", "Control", "ControlOrMeta", "Meta", "Shift"}},
			},
		},
		run: runClick,
	}
}

func runClick(ctx context.Context, c *call) error {
	target := c.args.text("target")
	button := input.MouseButtonLeft
	if c.args.has("button") {
		button = input.MouseButton(c.args.text("button"))
	}
	modifiers := c.args.texts("modifiers")
	clicks := int64(1)
	if c.args.boolean("doubleClick") {
		clicks = 2
	}
	mark := c.page.Mark()
	action := action{page: c.page, session: c.id, target: target, verb: "click"}
	words, err := action.run(ctx, func(ctx context.Context, e *browser.Element, p aria.Aimed) error {
		return press(ctx, c.page, e, p, button, clicks, keys(modifiers))
	})
	if words.Locator != "" {
		c.ran(clickCode(words.Locator, c.args))
	}
	if err != nil && !errors.Is(err, errInterrupted) {
		return err
	}
	c.snapshot = &aria.Options{Session: c.id, Depth: -1}
	if err == nil {
		settle(ctx, c.page, mark)
	}
	return nil
}

// press moves the pointer and clicks. Between the check of the place and the click the page may move: the click then
// reaches nothing, and *aria.NotReady says so.
func press(ctx context.Context, p *browser.Page, e *browser.Element, at aria.Aimed, button input.MouseButton, clicks int64, held []modifier) error {
	unlock, err := p.LockInput(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	mask, release, err := hold(ctx, p, held)
	defer release()
	if err != nil {
		return err
	}
	event := func(kind input.DispatchMouseEventType, count int64) input.DispatchMouseEventParams {
		e := input.DispatchMouseEventParams{Type: kind, X: at.Tab.X, Y: at.Tab.Y, Button: button, ClickCount: count, Modifiers: mask}
		switch kind {
		case input.DispatchMouseEventTypeMouseMoved:
			e.Button = input.MouseButtonNone
		case input.DispatchMouseEventTypeMousePressed:
			e.Buttons = buttonMask(button)
		}
		return e
	}
	send := func(kind input.DispatchMouseEventType, count int64) error {
		_, err := browser.Do(ctx, p.Session(), input.DispatchMouseEvent, event(kind, count))
		return err
	}
	if err := send(input.DispatchMouseEventTypeMouseMoved, 0); err != nil {
		return err
	}
	if err := aria.BeginClick(ctx, e, at.Frame); err != nil {
		return err
	}
	for count := int64(1); count <= clicks; count++ {
		if err := send(input.DispatchMouseEventTypeMousePressed, count); err != nil {
			// A dialog opened, or the time is over: the button doesn't stay down.
			browser.Post(p.Session(), input.DispatchMouseEvent, event(input.DispatchMouseEventTypeMouseReleased, count))
			aria.AbandonClick(e)
			return err
		}
		if err := send(input.DispatchMouseEventTypeMouseReleased, count); err != nil {
			aria.AbandonClick(e)
			return err
		}
	}
	err = aria.EndClick(ctx, e)
	if errors.Is(err, browser.ErrGone) {
		return nil // the click led to another document
	}
	if err != nil && ctx.Err() != nil {
		aria.AbandonClick(e)
	}
	return err
}

func buttonMask(b input.MouseButton) int64 {
	switch b {
	case input.MouseButtonRight:
		return 2
	case input.MouseButtonMiddle:
		return 4
	default:
		return 1
	}
}

// clickCode is the line of Playwright that does the same.
func clickCode(locator string, args arguments) string {
	method := "click"
	if args.boolean("doubleClick") {
		method = "dblclick"
	}
	var options []string
	if args.has("button") {
		options = append(options, "  button: "+quoteJS(args.text("button")))
	}
	if names := args.texts("modifiers"); len(names) > 0 {
		for i, name := range names {
			if name == "Control" {
				name = "ControlOrMeta"
			}
			names[i] = quoteJS(name)
		}
		slices.Sort(names)
		options = append(options, "  modifiers: ["+strings.Join(slices.Compact(names), ", ")+"]")
	}
	if len(options) == 0 {
		return fmt.Sprintf("await page.%s.%s();", locator, method)
	}
	return fmt.Sprintf("await page.%s.%s({\n%s\n});", locator, method, strings.Join(options, ",\n"))
}
