package tools

import (
	"context"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/input"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// keystroke is one key of a US keyboard: what a page is told of it, and the text that it types.
type keystroke struct {
	key  string
	code string
	win  int64 // Windows' key code
	text string
}

// typist presses keys in one tab, whichever frame has the focus.
type typist struct{ page *browser.Page }

// press presses a key and lets go of it. The key doesn't stay down when the page has no time for it.
func (t typist) press(ctx context.Context, k keystroke) error {
	down := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: k.key, Code: k.code, WindowsVirtualKeyCode: k.win,
		Text: k.text, UnmodifiedText: k.text,
	}
	if k.text == "" {
		down.Type = input.DispatchKeyEventTypeRawKeyDown
	}
	up := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyUp, Key: k.key, Code: k.code, WindowsVirtualKeyCode: k.win,
	}
	if _, err := browser.Do(ctx, t.page.Session(), input.DispatchKeyEvent, down); err != nil {
		browser.Post(t.page.Session(), input.DispatchKeyEvent, up)
		return err
	}
	_, err := browser.Do(ctx, t.page.Session(), input.DispatchKeyEvent, up)
	return err
}

// insert puts a text in the place of the selection, without keys.
func (t typist) insert(ctx context.Context, text string) error {
	_, err := browser.Do(ctx, t.page.Session(), input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// character types one character: with its key where the keyboard has one, else as a text.
func (t typist) character(ctx context.Context, char string) error {
	if k, ok := keyOf(char); ok {
		return t.press(ctx, k)
	}
	return t.insert(ctx, char)
}

func enterKey() keystroke  { return keystroke{"Enter", "Enter", 13, "\r"} }
func deleteKey() keystroke { return keystroke{"Delete", "Delete", 46, ""} }

// punctuationKey is a key with its code, Windows' code, and what it types without and with Shift.
type punctuationKey struct {
	code  string
	win   int64
	chars string
}

func punctuation() []punctuationKey {
	return []punctuationKey{
		{"Space", 32, "  "},
		{"Backquote", 192, "`~"},
		{"Minus", 189, "-_"},
		{"Equal", 187, "=+"},
		{"BracketLeft", 219, "[{"},
		{"BracketRight", 221, "]}"},
		{"Backslash", 220, `\|`},
		{"Semicolon", 186, ";:"},
		{"Quote", 222, `'"`},
		{"Comma", 188, ",<"},
		{"Period", 190, ".>"},
		{"Slash", 191, "/?"},
	}
}

// shiftedDigits are what the digits' keys type with Shift, from 0 on.
const shiftedDigits = ")!@#$%^&*("

// keyOf finds the key that types a character; false when a US keyboard has none.
func keyOf(char string) (keystroke, bool) {
	if len(char) != 1 {
		return keystroke{}, false
	}
	switch c := char[0]; {
	case c == '\n' || c == '\r':
		return enterKey(), true
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		upper := strings.ToUpper(char)
		return keystroke{char, "Key" + upper, int64(upper[0]), char}, true
	case c >= '0' && c <= '9':
		return keystroke{char, "Digit" + char, int64(c), char}, true
	}
	if i := strings.Index(shiftedDigits, char); i >= 0 {
		return keystroke{char, "Digit" + strconv.Itoa(i), int64('0' + i), char}, true
	}
	for _, p := range punctuation() {
		if strings.Contains(p.chars, char) {
			return keystroke{char, p.code, p.win, char}, true
		}
	}
	return keystroke{}, false
}
