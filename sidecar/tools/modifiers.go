package tools

import (
	"context"
	"slices"

	"github.com/chromedp/cdproto/input"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// modifier is a key that is held down during another action.
type modifier struct {
	key  string
	code string
	bit  int64 // in CDP's mask
	win  int64 // Windows' key code
}

// keys are the modifiers that a call names, each once.
func keys(names []string) []modifier {
	var list []modifier
	for _, name := range names {
		var m modifier
		switch name {
		case "Alt":
			m = modifier{"Alt", "AltLeft", 1, 18}
		case "Control", "ControlOrMeta":
			m = modifier{"Control", "ControlLeft", 2, 17}
		case "Meta":
			m = modifier{"Meta", "MetaLeft", 4, 91}
		case "Shift":
			m = modifier{"Shift", "ShiftLeft", 8, 16}
		}
		if m.key != "" && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// hold presses the keys and returns their mask; release lets go of those that were pressed. It doesn't wait for the
// page, which may be stopped by a dialog.
func hold(ctx context.Context, p *browser.Page, held []modifier) (mask int64, release func(), err error) {
	var down []modifier
	release = func() {
		left := mask
		for _, m := range slices.Backward(down) {
			left &^= m.bit
			browser.Post(p.Session(), input.DispatchKeyEvent, key(input.DispatchKeyEventTypeKeyUp, m, left))
		}
	}
	for _, m := range held {
		mask |= m.bit
		down = append(down, m)
		event := key(input.DispatchKeyEventTypeRawKeyDown, m, mask)
		if _, err := browser.Do(ctx, p.Session(), input.DispatchKeyEvent, event); err != nil {
			return mask, release, err
		}
	}
	return mask, release, nil
}

func key(kind input.DispatchKeyEventType, m modifier, mask int64) input.DispatchKeyEventParams {
	return input.DispatchKeyEventParams{
		Type: kind, Key: m.key, Code: m.code, Modifiers: mask, WindowsVirtualKeyCode: m.win, Location: 1,
	}
}
