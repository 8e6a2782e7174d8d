package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// actionLimit is how long an element may take to become ready for an action.
const actionLimit = 5 * time.Second

// action does something to an element as soon as it is visible, enabled, still, in view and not covered.
type action struct {
	page    *browser.Page
	session string
	target  string
	verb    string
	states  string // what the element has to be; "" is visible, enabled and stable
	detail  string // what is done, for the call log
}

// timeoutError is an action that wasn't possible in time, with what was tried.
type timeoutError struct {
	limit time.Duration
	log   []string
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("TimeoutError: Timeout %dms exceeded.\nCall log:\n%s\n", e.limit.Milliseconds(), strings.Join(e.log, "\n"))
}

// fieldError is a field that doesn't take a text, with what was tried.
type fieldError struct {
	text string
	log  []string
}

func (e *fieldError) Error() string {
	return fmt.Sprintf("%s\nCall log:\n%s\n", e.text, strings.Join(e.log, "\n"))
}

// run finds the element, then tries to aim at it until do succeeds or the time is over. do returns *aria.NotReady to be
// tried again.
func (a action) run(ctx context.Context, do func(context.Context, *browser.Element, aria.Aimed) error) (aria.Description, error) {
	return a.until(ctx, func(ctx context.Context, e *browser.Element) error {
		point, err := aria.Aim(ctx, e, true)
		if err != nil {
			return err
		}
		return do(ctx, e, point)
	})
}

// until is run for what needs no pointer.
func (a action) until(ctx context.Context, do func(context.Context, *browser.Element) error) (aria.Description, error) {
	bounded, cancel := context.WithTimeout(ctx, actionLimit)
	defer cancel()
	if a.states == "" {
		a.states = "visible, enabled and stable"
	}
	log := attempts{wanted: a.states}
	words, err := a.tryUntil(bounded, &log, do)
	var field *aria.FieldError
	switch {
	case errors.As(err, &field):
		return words, &fieldError{text: field.Text, log: append(a.head(words), "    - "+log.waiting())}
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return words, &timeoutError{limit: actionLimit, log: append(a.head(words), log.lines...)}
	case errors.Is(context.Cause(ctx), errInterrupted):
		return words, errInterrupted
	}
	return words, err
}

// head is how a call log begins.
func (a action) head(words aria.Description) []string {
	lines := []string{"  - waiting for locator(" + quoteJS(a.locator()) + ")"}
	if words.Preview == "" {
		return lines
	}
	lines = append(lines, "    - locator resolved to "+words.Preview)
	if a.detail != "" {
		lines = append(lines, "    - "+a.detail)
	}
	return append(lines, "  - attempting "+a.verb+" action")
}

func (a action) tryUntil(ctx context.Context, log *attempts, do func(context.Context, *browser.Element) error) (aria.Description, error) {
	element, err := aria.Find(ctx, a.page, a.session, a.target)
	if err != nil {
		return aria.Description{}, err
	}
	defer element.Release()
	words, err := aria.Describe(ctx, element, a.target)
	if err != nil {
		return words, err
	}
	for try := 0; ; try++ {
		err := do(ctx, element)
		var not *aria.NotReady
		if !errors.As(err, &not) {
			return words, err
		}
		if not.Reason == "element was detached from the DOM" {
			return words, &aria.RefError{Ref: a.target}
		}
		pause := retryPause(try)
		log.add(not.Reason, pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return words, context.Cause(ctx)
		}
	}
}

// locator is the target in the words of a call log.
func (a action) locator() string {
	if aria.IsRef(a.target) {
		return "aria-ref=" + a.target
	}
	return a.target
}

// retryPause grows from try to try, as upstream's does.
func retryPause(try int) time.Duration {
	pauses := []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond}
	if try < len(pauses) {
		return pauses[try]
	}
	return 500 * time.Millisecond
}

// attempts are the lines of a call log; attempts that failed alike are counted in one.
type attempts struct {
	wanted string // what the element has to be
	lines  []string
	reason string
	count  int
}

func (l *attempts) add(reason string, pause time.Duration) {
	if reason == l.reason {
		l.count++
		l.lines = l.lines[:len(l.lines)-3]
	} else {
		l.reason, l.count = reason, 1
	}
	head := "    - " + l.waiting()
	if l.count > 1 {
		head = fmt.Sprintf("    %d × %s", l.count, l.waiting())
	}
	l.lines = append(l.lines, head, "      - "+reason, fmt.Sprintf("    - retrying, after %dms", pause.Milliseconds()))
}

func (l *attempts) waiting() string { return "waiting for element to be " + l.wanted }
