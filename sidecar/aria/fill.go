package aria

import (
	"context"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// FieldError says why an element takes no text at all, or not this one.
type FieldError struct{ Text string }

func (e *FieldError) Error() string { return e.Text }

// readying is what a field says to a text.
type readying struct {
	Reason string `json:"reason"` // why it can't take text now
	Error  string `json:"error"`  // why it can't ever
	Done   bool   `json:"done"`   // it has taken it
}

func (r readying) err() error {
	switch {
	case r.Error != "":
		return &FieldError{Text: r.Error}
	case r.Reason != "":
		return &NotReady{Reason: r.Reason}
	default:
		return nil
	}
}

// BeginText gets a field ready for text: all that is in it is selected, or, for text that comes key by key, it has the
// focus. done means that the field has the text already, as dates do, and that nothing is to come. Errors are *NotReady,
// *FieldError, or the browser's; the field has kept its value then.
func BeginText(ctx context.Context, e *browser.Element, text string, slowly bool) (done bool, err error) {
	var answer readying
	if err := e.Frame().Call(ctx, script(), "beginText", &answer, e, text, slowly); err != nil {
		return false, err
	}
	return answer.Done, answer.err()
}

// EndText looks whether the text of BeginText arrived; where it did not, the field gets its former value back and the
// error is a *FieldError.
func EndText(ctx context.Context, e *browser.Element) error {
	var answer readying
	if err := e.Frame().Call(ctx, script(), "endText", &answer); err != nil {
		return err
	}
	return answer.err()
}

// FocusText gives the field of BeginText the focus again, for a key that belongs to it.
func FocusText(ctx context.Context, e *browser.Element) error {
	var focused bool
	if err := e.Frame().Call(ctx, script(), "focusText", &focused); err != nil {
		return err
	}
	if !focused {
		return &FieldError{Text: "The field lost the focus and does not take it again"}
	}
	return nil
}
