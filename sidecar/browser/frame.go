package browser

import (
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// Frame is one frame of a tab, in the tab's process or in one of its own. Its fields are guarded by the page's mutex.
type Frame struct {
	ID      cdp.FrameID
	page    *Page
	parent  *Frame
	session *Session

	url      string
	loader   cdp.LoaderID
	document int // counts the frame's documents; a result of an earlier one is thrown away
	worlds   map[string]runtime.ExecutionContextID
	sequence int  // the number in its refs' prefix; 0 is none
	named    bool // refs were given out for this document
	detached bool
}

// Page is the tab that the frame belongs to.
func (f *Frame) Page() *Page { return f.page }

// Session is the DevTools session of the process that the frame is in now.
func (f *Frame) Session() *Session {
	f.page.mu.Lock()
	defer f.page.mu.Unlock()
	return f.session
}

// Parent is the frame that embeds this one; nil for a tab's main frame.
func (f *Frame) Parent() *Frame {
	f.page.mu.Lock()
	defer f.page.mu.Unlock()
	return f.parent
}

// Main is the tab's main frame.
func (p *Page) Main() *Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.main
}

// Children returns the frames that f embeds.
func (f *Frame) Children() []*Frame {
	f.page.mu.Lock()
	defer f.page.mu.Unlock()
	var list []*Frame
	for _, other := range f.page.frames {
		if other.parent == f {
			list = append(list, other)
		}
	}
	slices.SortFunc(list, func(a, b *Frame) int { return a.sequence - b.sequence })
	return list
}

// Refs returns what starts every ref of the frame's document ("" for a tab's first page, else "f<number>"), and the
// document's number. A new document gets a new prefix as soon as refs of the old one were given out, so that a ref
// never names another element.
func (f *Frame) Refs() (prefix string, document int) {
	f.page.mu.Lock()
	defer f.page.mu.Unlock()
	return f.prefix(), f.document
}

func (f *Frame) prefix() string {
	if f.sequence == 0 {
		return ""
	}
	return fmt.Sprintf("f%d", f.sequence)
}

// GiveRefs notes that refs of a document go out; false when the frame shows another document by now.
func (f *Frame) GiveRefs(document int) bool {
	f.page.mu.Lock()
	defer f.page.mu.Unlock()
	if f.document != document {
		return false
	}
	f.named = true
	return true
}

// FrameByPrefix finds the frame whose refs start with prefix now, or nil.
func (p *Page) FrameByPrefix(prefix string) *Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.frames {
		if f.prefix() == prefix {
			return f
		}
	}
	return nil
}

// frame finds a frame by Chromium's id, or makes it. The caller holds p.mu.
func (p *Page) frame(s *Session, id, parent cdp.FrameID) *Frame {
	f := p.frames[id]
	if f == nil {
		p.sequences++
		f = &Frame{ID: id, page: p, session: s, sequence: p.sequences, url: "about:blank"}
		p.frames[id] = f
	}
	if parent != "" && f.parent == nil && f != p.main {
		f.parent = p.frames[parent]
	}
	return f
}

func (p *Page) frameAttached(s *Session, id, parent cdp.FrameID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frame(s, id, parent)
}

func (p *Page) frameDetached(e page.EventFrameDetached) {
	if e.Reason == page.FrameDetachedReasonSwap {
		return // it moves to a process of its own, which is announced as a target
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.frames[e.FrameID]; f != nil && f != p.main {
		p.drop(f)
	}
}

// drop forgets a frame with all that it embeds. The caller holds p.mu.
func (p *Page) drop(f *Frame) {
	f.detached = true
	f.forgetDocument()
	delete(p.frames, f.ID)
	for _, child := range p.frames {
		if child.parent == f {
			p.drop(child)
		}
	}
}

func (p *Page) frameNavigated(s *Session, e page.EventFrameNavigated) {
	if e.Frame == nil {
		return
	}
	url := e.Frame.URL + e.Frame.URLFragment
	mayShow := p.browser.mayShow(url)
	p.mu.Lock()
	f := p.frame(s, e.Frame.ID, e.Frame.ParentID)
	f.session = s
	f.url = url
	f.loader = e.Frame.LoaderID
	f.forgetDocument()
	if f.named {
		p.sequences++
		f.sequence = p.sequences
		f.named = false
	}
	for _, child := range p.frames {
		if child.parent == f {
			p.drop(child)
		}
	}
	isMain := f == p.main
	if isMain {
		p.crashed = false
		p.console = ConsoleCounts{}
		p.committed = p.committed || f.url != "about:blank"
		if p.status = p.activity.statuses[f.loader]; f.url == "about:blank" {
			p.status = Status{}
		}
		clear(p.activity.statuses)
		p.activity.committed(f.loader, e.Type == page.NavigationTypeBackForwardCacheRestore)
		p.expelled = p.expelled || !mayShow // from the first moment on: nobody lists it meanwhile
	}
	p.mu.Unlock()
	if isMain {
		p.landed(url)
	}
	p.changed.fire()
}

// forgetDocument makes everything that belongs to the frame's document invalid. The caller holds the page's mutex.
func (f *Frame) forgetDocument() {
	f.document++
	f.worlds = nil
}

func (p *Page) navigatedWithin(e page.EventNavigatedWithinDocument) {
	p.mu.Lock()
	if f := p.frames[e.FrameID]; f != nil {
		f.url = e.URL
		if f == p.main {
			p.activity.within++
		}
	}
	p.mu.Unlock()
	p.changed.fire()
}

// frameProcess is told that a frame of another site got a process of its own, or that a worker is to run.
func (p *Page) frameProcess(e target.EventAttachedToTarget) {
	s := p.browser.conn.open(e.SessionID, nil)
	if e.TargetInfo.Type == "worker" {
		s.handle = func(string, jsonv2.Value) {} // nothing of a worker is asked for
		Post(s, runtime.RunIfWaitingForDebugger, cdp.Empty{})
		return
	}
	s.handle = func(method string, params jsonv2.Value) { p.handle(s, method, params) }
	p.mu.Lock()
	f := p.frame(s, cdp.FrameID(e.TargetInfo.TargetID), e.TargetInfo.ParentFrameID)
	f.session = s
	f.forgetDocument()
	p.mu.Unlock()
	p.watch(s)
	Post(s, runtime.RunIfWaitingForDebugger, cdp.Empty{})
}

func (p *Page) frameProcessGone(e target.EventDetachedFromTarget) {
	p.mu.Lock()
	for _, f := range p.frames {
		if f.session.id == e.SessionID {
			f.forgetDocument()
		}
	}
	p.mu.Unlock()
	p.browser.conn.closeSession(e.SessionID)
}
