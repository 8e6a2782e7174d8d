package browser

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// A tab's size in CSS pixels until something resizes it.
const (
	defaultWidth  = 1280
	defaultHeight = 720
)

// closeLimit is how long a tab may take to close.
const closeLimit = 5 * time.Second

// Page is one tab. Its state follows Chromium's events; methods may be called from any goroutine.
type Page struct {
	ID      target.ID
	browser *Browser
	session *Session
	opener  target.ID
	own     bool // NewPage opened it, not another tab; guarded by the browser's mutex
	changed signal
	ready   chan struct{} // closed when the renderer has answered; navigating before can crash it
	closed  chan struct{}
	input   chan struct{} // holds one while someone uses pointer or keys
	once    sync.Once

	mu        sync.Mutex
	main      *Frame
	frames    map[cdp.FrameID]*Frame
	sequences int // the last number given to a frame or document
	dialog    *Dialog
	crashed   bool
	crashes   int
	expelled  bool
	committed bool // a document of the tab's own was shown
	status    Status
	console   ConsoleCounts
	activity  activity
	downloads []Download
	opening   *opening // the page that nobody asked for, while it loads
}

// Status is the HTTP status of the tab's document; Code is 0 where there was none.
type Status struct {
	Code int64
	Text string
}

// ConsoleCounts counts what was written to the console since the last navigation.
type ConsoleCounts struct{ Errors, Warnings int }

func newPage(b *Browser, e target.EventAttachedToTarget) *Page {
	p := &Page{
		ID: e.TargetInfo.TargetID, browser: b, opener: e.TargetInfo.OpenerID,
		ready: make(chan struct{}), closed: make(chan struct{}), input: make(chan struct{}, 1), frames: map[cdp.FrameID]*Frame{}, activity: newActivity(),
	}
	p.session = b.conn.open(e.SessionID, nil)
	p.session.handle = func(method string, params jsonv2.Value) { p.handle(p.session, method, params) }
	p.main = &Frame{ID: cdp.FrameID(p.ID), page: p, session: p.session, url: e.TargetInfo.URL}
	p.frames[p.main.ID] = p.main
	p.watch(p.session)
	Post(p.session, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: defaultWidth, Height: defaultHeight, DeviceScaleFactor: 1,
	})
	p.session.conn.send(p.session, runtime.CommandRunIfWaitingForDebugger, nil, func(jsonv2.Value, error) {
		close(p.ready)
	})
	return p
}

// watch turns on what the sidecar needs to know of a tab's or frame's process, before its first line of script.
func (p *Page) watch(s *Session) {
	Post(s, page.Enable, page.EnableParams{})
	Post(s, page.SetLifecycleEventsEnabled, page.SetLifecycleEventsEnabledParams{Enabled: true})
	Post(s, runtime.Enable, cdp.Empty{})
	Post(s, log.Enable, cdp.Empty{})
	Post(s, network.Enable, network.EnableParams{})
	Post(s, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})
	refuseServiceWorkers(s)
	Post(s, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{
		ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageRequest,
	}}})
	// A page behaves as if it had the focus, so that several sessions don't disturb each other.
	Post(s, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	Post(s, target.SetAutoAttach, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: new(true),
		// A worker that nobody attached to would wait for ever for somebody to let it go on.
		Filter: target.Filter{{Type: "iframe"}, {Type: "worker"}, {Exclude: true}},
	})
}

// Session is the tab's own DevTools session.
func (p *Page) Session() *Session { return p.session }

// Closed is closed when the tab is.
func (p *Page) Closed() <-chan struct{} { return p.closed }

// Changed returns a channel that closes at the tab's next change: a navigation, a load, a dialog, a request.
func (p *Page) Changed() <-chan struct{} { return p.changed.wait() }

// URL is the address of the tab's document.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.main.url
}

// Status is the HTTP status that the tab's document came with.
func (p *Page) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Console counts the console's errors and warnings since the last navigation.
func (p *Page) Console() ConsoleCounts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.console
}

// Crashed tells whether the tab's renderer died; the next navigation revives it.
func (p *Page) Crashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

// Expelled tells whether the guard is closing the tab: nothing of it may be shown.
func (p *Page) Expelled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expelled
}

// Close closes the tab and waits until it is gone.
func (p *Page) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	if _, err := Do(ctx, p.browser.root, target.CloseTarget, target.CloseTargetParams{TargetID: p.ID}); err != nil {
		return fmt.Errorf("closing a tab: %w", err)
	}
	select {
	case <-p.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing a tab: %w", context.Cause(ctx))
	}
}

func (p *Page) mainID() cdp.FrameID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.main.ID
}

// untouched tells whether the tab was opened by another and has shown nothing yet.
func (p *Page) untouched() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opener != "" && !p.committed
}

func (p *Page) expel() {
	p.mu.Lock()
	p.expelled = true
	p.mu.Unlock()
	p.changed.fire()
}

// end is called once the tab is gone.
func (p *Page) end() {
	p.once.Do(func() {
		p.mu.Lock()
		sessions := map[*Session]bool{p.session: true}
		for _, f := range p.frames {
			sessions[f.session] = true
		}
		p.mu.Unlock()
		for s := range sessions {
			p.browser.conn.fail(s, ErrGone, true)
		}
		close(p.closed)
		p.changed.fire()
	})
}

// handle takes the events of the tab and of its frames' own processes; s is where the event came from.
func (p *Page) handle(s *Session, method string, params jsonv2.Value) {
	switch method {
	case fetch.RequestPaused.Method:
		on(params, func(e fetch.EventRequestPaused) { p.judge(s, e) })
	case page.FrameAttached.Method:
		on(params, func(e page.EventFrameAttached) { p.frameAttached(s, e.FrameID, e.ParentFrameID) })
	case page.FrameDetached.Method:
		on(params, p.frameDetached)
	case page.FrameNavigated.Method:
		on(params, func(e page.EventFrameNavigated) { p.frameNavigated(s, e) })
	case page.NavigatedWithinDocument.Method:
		on(params, p.navigatedWithin)
	case page.LifecycleEvent.Method:
		on(params, p.lifecycle)
	case page.FrameStartedLoading.Method:
		on(params, func(e page.EventFrameStartedLoading) { p.loading(e.FrameID, true) })
	case page.FrameStoppedLoading.Method:
		on(params, func(e page.EventFrameStoppedLoading) { p.loading(e.FrameID, false) })
	case page.JavascriptDialogOpening.Method:
		on(params, func(e page.EventJavascriptDialogOpening) { p.dialogOpened(s, e) })
	case page.JavascriptDialogClosed.Method:
		p.dialogClosed()
	case target.AttachedToTarget.Method:
		on(params, p.frameProcess)
	case target.DetachedFromTarget.Method:
		on(params, p.frameProcessGone)
	case inspector.TargetCrashed.Method:
		p.crash(s)
	case network.RequestWillBeSent.Method:
		on(params, p.requestSent)
	case network.ResponseReceived.Method:
		on(params, p.responseReceived)
	case network.LoadingFinished.Method:
		on(params, func(e network.EventLoadingFinished) { p.requestEnded(e.RequestID) })
	case network.LoadingFailed.Method:
		on(params, func(e network.EventLoadingFailed) { p.requestEnded(e.RequestID) })
	case runtime.ConsoleAPICalled.Method:
		on(params, p.consoleCalled)
	case runtime.ExceptionThrown.Method:
		p.consoleCount(1, 0)
	case log.EntryAdded.Method:
		on(params, p.logged)
	}
}

// crash fails what waits for the renderer that died. A frame's process of its own takes only the frame along.
func (p *Page) crash(s *Session) {
	if s == p.session {
		p.mu.Lock()
		p.crashed = true
		p.crashes++
		p.dialog = nil
		p.activity = newActivity()
		for _, f := range p.frames {
			f.forgetDocument()
		}
		p.mu.Unlock()
	}
	p.browser.conn.fail(s, ErrCrashed, false)
	p.changed.fire()
}
