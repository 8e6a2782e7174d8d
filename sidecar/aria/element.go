package aria

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// RefError says that a ref names nothing (any more).
type RefError struct{ Ref string }

func (e *RefError) Error() string {
	return fmt.Sprintf("Ref %s not found in the current page snapshot. Try capturing new snapshot.", e.Ref)
}

// TargetError says why a selector leads to no element, or not to a single one.
type TargetError struct{ Text string }

func (e *TargetError) Error() string { return e.Text }

var refPattern = regexp.MustCompile(`^(f\d+)?e\d+$`)

// Find returns the element that a target leads to: a ref of the session's latest snapshot, or a CSS selector in the
// main document. Errors are *RefError, *TargetError, or the browser's. The caller releases the element.
func Find(ctx context.Context, p *browser.Page, session, target string) (*browser.Element, error) {
	frame := p.Main()
	if match := refPattern.FindStringSubmatch(target); match != nil {
		if frame = p.FrameByPrefix(match[1]); frame == nil {
			return nil, &RefError{Ref: target}
		}
	}
	element, err := frame.Find(ctx, script(), "element", session, target)
	if err != nil || element != nil {
		return element, err
	}
	var why struct {
		Missing string `json:"missing"`
		Error   string `json:"error"`
	}
	if err := frame.Call(ctx, script(), "look", &why, session, target); err != nil {
		return nil, err
	}
	switch {
	case why.Error != "":
		return nil, &TargetError{Text: why.Error}
	case why.Missing == "ref":
		return nil, &RefError{Ref: target}
	default:
		return nil, &TargetError{Text: fmt.Sprintf("%q does not match any elements.", target)}
	}
}

// Description words an element for people: its start tag, and Playwright's locator for it.
type Description struct {
	Preview string `json:"preview"`
	Locator string `json:"locator"`
}

// Describe words the element that target led to.
func Describe(ctx context.Context, e *browser.Element, target string) (Description, error) {
	var d Description
	err := e.Frame().Call(ctx, script(), "describe", &d, e, target)
	return d, err
}

// Point is a place in CSS pixels of the tab's viewport.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// NotReady says why an element can't be acted on just now, such as "element is not visible".
type NotReady struct{ Reason string }

func (e *NotReady) Error() string { return e.Reason }

// Aimed is where to point at an element: in the tab's viewport, and in that of the element's own frame.
type Aimed struct{ Tab, Frame Point }

// Aim scrolls the element into view and returns where to point at it, once it is visible, stands still, gets the
// pointer's events there and, where asked, is enabled. Else it returns *NotReady at once; the caller tries again.
func Aim(ctx context.Context, e *browser.Element, mustBeEnabled bool) (Aimed, error) {
	var at readiness
	if err := e.Frame().Call(ctx, script(), "aim", &at, e, mustBeEnabled); err != nil {
		return Aimed{}, err
	}
	if at.Reason != "" {
		return Aimed{}, &NotReady{Reason: at.Reason}
	}
	inFrame := at.Point
	// From frame to frame outwards: each may be covered in the document that embeds it.
	for f := e.Frame(); f.Parent() != nil; f = f.Parent() {
		owner, err := f.Owner(ctx, script())
		if err != nil {
			return Aimed{}, err
		}
		var outer readiness
		err = f.Parent().Call(ctx, script(), "outwards", &outer, owner, at.Point)
		owner.Release()
		if err != nil {
			return Aimed{}, err
		}
		if outer.Reason != "" {
			return Aimed{}, &NotReady{Reason: outer.Reason}
		}
		at = outer
	}
	return Aimed{Tab: at.Point, Frame: inFrame}, nil
}

// readiness is a place, or why there is none.
type readiness struct {
	Point
	Reason string `json:"reason"`
}

// BeginClick looks once more, now that the pointer is there, whether the element gets its events at the point of its
// frame; else it returns *NotReady. From then on a click reaches the element and nothing that moves in its place.
func BeginClick(ctx context.Context, e *browser.Element, at Point) error {
	var met string
	if err := e.Frame().Call(ctx, script(), "beginClick", &met, e, at); err != nil {
		return err
	}
	return intercepted(met)
}

// EndClick ends what BeginClick began; *NotReady names what the click would have met instead.
func EndClick(ctx context.Context, e *browser.Element) error {
	var met string
	if err := e.Frame().Call(ctx, script(), "endClick", &met); err != nil {
		return err
	}
	return intercepted(met)
}

// AbandonClick ends what BeginClick began without waiting: the page may be stopped by a dialog.
func AbandonClick(e *browser.Element) { e.Frame().Notify(script(), "endClick") }

func intercepted(by string) error {
	if by == "" {
		return nil
	}
	return &NotReady{Reason: by + " intercepts pointer events"}
}

// Quiet returns once the page's main document hasn't changed for a while, at the latest after longest.
func Quiet(ctx context.Context, p *browser.Page, still, longest time.Duration) error {
	return p.Main().Call(ctx, script(), "quiet", nil, still.Milliseconds(), longest.Milliseconds())
}

// IsRef tells whether a target has the form of a ref.
func IsRef(target string) bool { return refPattern.MatchString(target) }
