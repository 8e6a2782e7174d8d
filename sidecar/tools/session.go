package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
	"github.com/browser-sidecar/conformance/sidecar/mcp"
)

// session is one client's view of the browser.
type session struct {
	set    *Set
	id     string
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	current   *browser.Page
	index     int    // where current was among the tabs: its successor takes the place
	header    string // the page section that the client was shown last
	refused   int    // the guard's refusals that the client knows of
	downloads map[string]bool
}

// errSessionClosed ends the calls of a session that is over.
var errSessionClosed = errors.New("the session closed")

// Close ends the session's calls and frees what pages remember of it.
func (s *session) Close() {
	s.cancel(errSessionClosed)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var group sync.WaitGroup
	for _, p := range s.set.browser.Pages() {
		if p.Dialog() == nil && !p.Crashed() {
			group.Go(func() { aria.Forget(ctx, p, s.id) })
		}
	}
	group.Wait()
}

// call is one tool call under way: its arguments, and the result as it grows.
type call struct {
	*session
	tool *tool
	args arguments
	page *browser.Page
	response
}

// Call runs a tool. Failures of the tool are results with IsError.
func (s *session) Call(ctx context.Context, name string, raw json.RawMessage) mcp.Result {
	i := slices.IndexFunc(s.set.tools, func(t *tool) bool { return t.name == name })
	if i < 0 {
		return failure(fmt.Sprintf("Tool %q not found", name))
	}
	t := s.set.tools[i]
	args, err := parse(t, raw)
	if err != nil {
		return failure(err.Error())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	return s.run(ctx, &call{session: s, tool: t, args: args})
}

// errInterrupted ends an action that opened a dialog: it goes on only once that is answered.
var errInterrupted = errors.New("a dialog opened")

func (s *session) run(ctx context.Context, c *call) mcp.Result {
	before, news := s.refusalsSince()
	var err error
	if c.page, err = s.currentPage(ctx); err != nil {
		return failure(describe(err))
	}
	if c.page.Dialog() != nil && !c.tool.inModal {
		c.fail(fmt.Sprintf("Error: Tool %q does not handle the modal state.", c.tool.name))
		c.modal = true
		return c.finish(ctx)
	}
	for _, r := range news {
		if r.Redirected {
			c.event("A page was redirected to " + r.Origin + ", outside the sandbox app, and was closed.")
		}
	}
	run := func(ctx context.Context) error { return c.tool.run(ctx, c) }
	if c.tool.inModal {
		err = run(ctx)
	} else {
		err = c.interruptible(ctx, run)
	}
	if err != nil && !errors.Is(err, errInterrupted) {
		c.thrown(describe(err))
	}
	return s.guarded(ctx, c, before)
}

// panicked is what a tool panicked with in a goroutine of its own, where it would end the sidecar rather than its call.
type panicked struct {
	cause any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("a tool panicked with a %T", p.cause) }

// Stack tells whoever recovers it where it began.
func (p *panicked) Stack() string { return p.stack }

// interruptible runs something in the call's tab until it is done, or until a dialog opens there.
func (c *call) interruptible(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				done <- &panicked{cause, string(debug.Stack())}
			}
		}()
		done <- run(ctx)
	}()
	end := func(err error) error {
		if p := (*panicked)(nil); errors.As(err, &p) {
			panic(p)
		}
		return err
	}
	for {
		changed := c.page.Changed()
		if c.page.Dialog() != nil {
			cancel(errInterrupted)
			err := end(<-done) // every step of a tool ends soon after its context
			if err != nil {
				return errInterrupted
			}
			return nil
		}
		select {
		case err := <-done:
			return end(err)
		case <-changed:
		}
	}
}

// guarded finishes the result, unless the call led a tab out of the app: then nothing of it is told.
func (s *session) guarded(ctx context.Context, c *call, before int) mcp.Result {
	if withheld, ok := s.withheld(ctx, c, before); ok {
		return withheld
	}
	for _, r := range s.concerning(c, before) {
		c.event("Navigation to " + r.Origin + " was refused: this browser may only open pages of the sandbox app at " + s.set.origin())
	}
	result := c.finish(ctx)
	// The page may have left while the result was made.
	if withheld, ok := s.withheld(ctx, c, before); ok {
		return withheld
	}
	_, newest := s.set.browser.Refusals(before)
	s.mu.Lock()
	s.refused = newest
	s.mu.Unlock()
	return result
}

func (s *session) withheld(ctx context.Context, c *call, before int) (mcp.Result, bool) {
	var origins []string
	for _, r := range s.concerning(c, before) {
		if !r.Redirected {
			continue
		}
		if !slices.Contains(origins, r.Origin) {
			origins = append(origins, r.Origin)
		}
		select {
		case <-r.Page.Closed():
		case <-ctx.Done():
		}
	}
	if len(origins) == 0 {
		return mcp.Result{}, false
	}
	_, newest := s.set.browser.Refusals(before)
	s.mu.Lock()
	s.refused = newest
	s.mu.Unlock()
	return failure("A page was redirected to " + strings.Join(origins, ", ") + ", outside the sandbox app, and was closed. " +
		"This browser may only show pages of the sandbox app, so the result of this call is withheld."), true
}

// concerning lists the guard's refusals since before that the call's tab, or one that it opened, led to. A tab that none of
// the known ones opened may be its own; another session's is not.
func (s *session) concerning(c *call, before int) []browser.Refusal {
	all, _ := s.set.browser.Refusals(before)
	return slices.DeleteFunc(all, func(r browser.Refusal) bool {
		return r.Page != c.page && r.Opener != c.page && (r.Opener != nil || !r.Popup)
	})
}

// refusalsSince returns what the guard refused in the session's tab since its last call, and the newest number.
func (s *session) refusalsSince() (int, []browser.Refusal) {
	s.mu.Lock()
	known, current := s.refused, s.current
	s.mu.Unlock()
	list, newest := s.set.browser.Refusals(known)
	list = slices.DeleteFunc(list, func(r browser.Refusal) bool { return r.Page != current })
	s.mu.Lock()
	s.refused = newest
	s.mu.Unlock()
	return newest, list
}

// currentPage returns the session's tab: the one it had, else the one that took its place, else a new one.
func (s *session) currentPage(ctx context.Context) (*browser.Page, error) {
	pages := slices.DeleteFunc(s.set.browser.Pages(), (*browser.Page).Expelled)
	s.mu.Lock()
	if i := slices.Index(pages, s.current); i >= 0 {
		s.index = i
	} else if len(pages) > 0 {
		s.index = min(s.index, len(pages)-1)
		s.current = pages[s.index]
	} else {
		s.current = nil
	}
	current := s.current
	s.mu.Unlock()
	if current != nil {
		return current, nil
	}
	page, err := s.set.browser.NewPage(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.index = page, 0
	return page, nil
}

// describe words an error as Playwright does.
func describe(err error) string {
	var script *browser.ScriptError
	var ref *aria.RefError
	var target *aria.TargetError
	var timeout *timeoutError
	switch {
	case errors.As(err, &timeout):
		return timeout.Error()
	case errors.As(err, &script):
		return script.Text
	case errors.As(err, &ref):
		return "Error: " + ref.Error()
	case errors.As(err, &target):
		return "Error: " + target.Text
	case errors.Is(err, errPending):
		return "Error: A navigation of this tab is under way and has no answer yet, so the page can't be read. " +
			"Try again later, or navigate somewhere else."
	case errors.Is(err, browser.ErrCrashed):
		return "Error: The page crashed. Navigate to a URL to open it again."
	case errors.Is(err, browser.ErrStopped):
		return "Error: The browser is stopping."
	case errors.Is(err, browser.ErrGone):
		return "Error: The page or frame was closed, or it went to another document meanwhile. Try capturing new snapshot."
	case errors.Is(err, context.DeadlineExceeded):
		return "TimeoutError: The page did not answer in time."
	case errors.Is(err, context.Canceled):
		return "Error: The call was cancelled."
	default:
		return "Error: " + err.Error()
	}
}
