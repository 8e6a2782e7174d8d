package browser

import (
	"context"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// NavigationError is why Chromium didn't open an address, in its own words (net::ERR_…).
type NavigationError struct {
	Text       string
	IsDownload bool // the address was a file to be stored; the tab stays where it was
}

func (e *NavigationError) Error() string { return e.Text }

// Document names one document that a tab committed; the zero value stands for the one that was there already.
type Document struct {
	loader  cdp.LoaderID
	crashes int // how often the tab had crashed before
}

// opening is a navigation that gives way to any other.
type opening struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Open begins to open url where nobody asked for it: the first Navigate takes its place, whether or not Chromium has
// heard of it yet. The returned function waits for its end, which is no error where it gave way.
func (p *Page) Open(ctx context.Context, url string) (wait func() error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &opening{cancel: cancel, done: make(chan struct{})}
	p.mu.Lock()
	p.opening = o
	p.mu.Unlock()
	var err error
	go func() {
		defer close(o.done)
		defer cancel()
		if _, err = p.navigate(ctx, url); ctx.Err() != nil {
			err = nil
		}
	}()
	return func() error {
		<-o.done
		return err
	}
}

// supersede ends the opening and waits until it can no longer reach Chromium: of two navigations the later one wins.
func (p *Page) supersede() {
	p.mu.Lock()
	o := p.opening
	p.opening = nil
	p.mu.Unlock()
	if o != nil {
		o.cancel()
		<-o.done
	}
}

// Navigate opens url and returns once the document is committed, or *NavigationError. It forgets the downloads of
// earlier pages.
func (p *Page) Navigate(ctx context.Context, url string) (Document, error) {
	p.supersede()
	return p.navigate(ctx, url)
}

func (p *Page) navigate(ctx context.Context, url string) (Document, error) {
	select {
	case <-p.ready:
	case <-ctx.Done():
		return Document{}, fmt.Errorf("navigating: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	p.downloads = nil
	p.mu.Unlock()
	result, err := Do(ctx, p.session, page.Navigate, page.NavigateParams{URL: url})
	if err != nil {
		return Document{}, fmt.Errorf("navigating: %w", err)
	}
	if result.ErrorText != "" || result.IsDownload {
		return Document{}, &NavigationError{Text: result.ErrorText, IsDownload: result.IsDownload}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Document{loader: result.LoaderID, crashes: p.crashes}, nil
}

// WaitFor waits until the document reached the named state, "DOMContentLoaded" or "load", or was left for another.
func (p *Page) WaitFor(ctx context.Context, d Document, state string) error {
	for {
		changed := p.changed.wait()
		p.mu.Lock()
		reached, crashed := d.loader == "" || p.activity.reached(d.loader, state), p.crashes != d.crashes
		p.mu.Unlock()
		switch {
		case reached:
			return nil
		case crashed:
			return ErrCrashed
		}
		select {
		case <-changed:
		case <-p.closed:
			return ErrGone
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", state, context.Cause(ctx))
		}
	}
}

// Mark is a moment; Busy tells what of the requests after it is still under way.
type Mark int

// Mark notes the present moment.
func (p *Page) Mark() Mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Mark(p.activity.count)
}

// Busy tells whether the tab is loading a document, and how many requests started since m have no end yet.
func (p *Page) Busy(m Mark) (loading bool, requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, number := range p.activity.requests {
		if number > int(m) {
			requests++
		}
	}
	return p.activity.loading, requests
}

// Pending tells whether a navigation of the tab has no answer yet although the document on show is complete. Chromium
// hands on nothing to that document meanwhile.
func (p *Page) Pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.activity.loading && p.activity.states["load"]
}

// activity follows the loading of a tab's documents and requests.
type activity struct {
	count     int // requests seen so far
	requests  map[network.RequestID]int
	statuses  map[cdp.LoaderID]Status
	loading   bool
	stops     int            // how often it stopped loading
	within    int            // navigations within a document
	documents int            // documents that it committed
	loader    cdp.LoaderID   // the document on show
	earlier   []cdp.LoaderID // those shown before it, newest last
	states    map[string]bool
}

func newActivity() activity {
	return activity{
		requests: map[network.RequestID]int{}, statuses: map[cdp.LoaderID]Status{}, states: map[string]bool{},
	}
}

// committed starts a document's own count of states; requests of the one before ended with it. A document that was kept
// as it was has reached its states before, and is told of none again.
func (a *activity) committed(loader cdp.LoaderID, restored bool) {
	a.documents++
	a.earlier = append(a.earlier, a.loader)
	a.earlier = a.earlier[max(0, len(a.earlier)-keptDocuments):]
	a.loader = loader
	clear(a.states)
	clear(a.requests)
	if restored {
		a.states["DOMContentLoaded"], a.states["load"] = true, true
	}
}

// keptDocuments is how many earlier documents a tab remembers.
const keptDocuments = 16

// reached is true also for a document that another has replaced, whose state doesn't matter any more, and for one that
// stopped loading: where a script left the page at once and that was refused, its states never come.
func (a *activity) reached(loader cdp.LoaderID, state string) bool {
	if a.loader == loader {
		return a.states[state] || !a.loading
	}
	return slices.Contains(a.earlier, loader)
}

func (p *Page) lifecycle(e page.EventLifecycleEvent) {
	p.mu.Lock()
	if e.FrameID == p.main.ID && e.LoaderID == p.activity.loader {
		p.activity.states[e.Name] = true
	}
	p.mu.Unlock()
	p.changed.fire()
}

func (p *Page) loading(id cdp.FrameID, loading bool) {
	p.mu.Lock()
	if id == p.main.ID {
		p.activity.loading = loading
		if !loading {
			p.activity.stops++
		}
	}
	p.mu.Unlock()
	p.changed.fire()
}

func (p *Page) requestSent(e network.EventRequestWillBeSent) {
	switch e.Type {
	case network.ResourceTypeEventSource, network.ResourceTypeWebSocket, network.ResourceTypePing,
		network.ResourceTypeMedia:
		return // these may never end
	}
	p.mu.Lock()
	if _, again := p.activity.requests[e.RequestID]; !again {
		p.activity.count++
		p.activity.requests[e.RequestID] = p.activity.count
	}
	p.mu.Unlock()
}

func (p *Page) responseReceived(e network.EventResponseReceived) {
	if e.Type != network.ResourceTypeDocument || e.Response == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.FrameID != p.main.ID {
		return
	}
	status := Status{Code: e.Response.Status, Text: e.Response.StatusText}
	// The response comes before the commit or after it.
	if e.LoaderID == p.activity.loader {
		p.status = status
		return
	}
	p.activity.statuses[e.LoaderID] = status
}

func (p *Page) requestEnded(id network.RequestID) {
	p.mu.Lock()
	delete(p.activity.requests, id)
	p.mu.Unlock()
	p.changed.fire()
}
