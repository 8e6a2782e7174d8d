package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Options say how to start Chromium.
type Options struct {
	Executable string // a file; "" takes what Find finds
	Profile    string // an existing, empty folder that nobody else uses; the caller removes it
	Proxy      string // host:port of the forward proxy, without a scheme; "" for none (tests)
	Downloads  string // an existing folder; "" refuses every download
	Headed     bool   // with a window; needs a display
	Sandbox    bool   // Chromium's own sandbox; Start fails where it can't be
	Log        *slog.Logger
}

// startLimit bounds the time from exec to Chromium's first answer.
const startLimit = 30 * time.Second

// Browser is one running Chromium.
type Browser struct {
	log     *slog.Logger
	process *process
	conn    *conn
	root    *Session
	done    chan struct{}
	ctx     context.Context // ends when the browser does; background tasks use it
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	changed signal

	mu        sync.Mutex
	app       *url.URL
	pages     []*Page
	refusals  []Refusal
	refused   int
	downloads map[string]*Page
}

// Start launches Chromium and returns once it answers and its first tab is there. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Browser, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Executable == "" {
		path, ok := Find()
		if !ok {
			return nil, errors.New("no Chromium was found; `sidecar check` says where it is looked for")
		}
		o.Executable = path
	}
	if o.Headed && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil, errors.New("headed mode needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set")
	}
	p, err := spawn(o.Executable, flags(o, smallSharedMemory()), environment(os.Environ(), o.Profile))
	if err != nil {
		return nil, err
	}
	b := &Browser{
		log: o.Log, process: p, conn: newConn(chromedp.NewPipeConn(p.answers, p.commands)),
		done: make(chan struct{}), downloads: map[string]*Page{},
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.root = b.conn.open("", b.handle)
	b.conn.run()
	go b.watch()

	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := b.prepare(ctx, o); err != nil {
		if errors.Is(err, ErrStopped) {
			// The pipe closed: the process is about to end and its stderr says why.
			_ = p.wait(ctx)
			err = p.failure(o.Sandbox)
		}
		p.killGroup()
		<-b.done
		return nil, fmt.Errorf("starting the browser: %w", err)
	}
	return b, nil
}

// watch closes done once nothing of the browser is left, whichever of process and pipe ended first.
func (b *Browser) watch() {
	select {
	case <-b.process.exited:
	case <-b.conn.closed:
		// Without its pipe Chromium can't be driven; it usually ends by itself.
		select {
		case <-b.process.exited:
		case <-time.After(2 * time.Second):
			b.process.killGroup()
			<-b.process.exited
		}
	}
	// Closes both files, which ends the reading goroutine in case a stray child still holds the pipe.
	_ = b.conn.pipe.Close()
	b.conn.tasks.Wait()
	b.cancel()
	b.mu.Lock()
	pages := slices.Clone(b.pages)
	b.mu.Unlock()
	for _, p := range pages {
		b.remove(p)
	}
	b.tasks.Wait()
	close(b.done)
}

// prepare takes hold of every tab to come and opens the first one.
func (b *Browser) prepare(ctx context.Context, o Options) error {
	download := cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny}
	if o.Downloads != "" {
		// Named by an id, so that no name a page gives is ever a path (contract: isolation.downloads).
		download.Behavior = cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName
		download.DownloadPath = o.Downloads
		download.EventsEnabled = new(true)
	}
	Post(b.root, cdpbrowser.SetDownloadBehavior, download)
	if _, err := Do(ctx, b.root, target.SetAutoAttach, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: new(true),
		Filter: target.Filter{
			{Type: "page"}, {Type: "service_worker"}, {Exclude: true},
		},
	}); err != nil {
		return err
	}
	_, err := b.NewPage(ctx)
	return err
}

// Done is closed when Chromium is gone, whatever the cause, and nothing of its process group is left.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Pid is Chromium's process id, which is its process group's as well.
func (b *Browser) Pid() int { return b.process.pid }

// gracefulClose is how long Chromium may take to end by itself.
const gracefulClose = 1500 * time.Millisecond

// Close asks Chromium to end, kills its process group when it doesn't do so soon, and waits until all is gone. It may
// be called more than once, and after Chromium died.
func (b *Browser) Close(ctx context.Context) error {
	soft, cancel := context.WithTimeout(ctx, gracefulClose)
	defer cancel()
	if _, err := Do(soft, b.root, cdpbrowser.Close, cdp.Empty{}); err == nil {
		_ = b.process.wait(soft)
	}
	b.process.killGroup()
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing the browser: %w", context.Cause(ctx))
	}
}

// Pages returns the open tabs, oldest first.
func (b *Browser) Pages() []*Page {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pages)
}

// Changed returns a channel that closes when a tab opens or closes, or the guard refuses something.
func (b *Browser) Changed() <-chan struct{} { return b.changed.wait() }

// NewPage opens a blank tab and waits until it can be used.
func (b *Browser) NewPage(ctx context.Context) (*Page, error) {
	made, err := Do(ctx, b.root, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		return nil, fmt.Errorf("opening a tab: %w", err)
	}
	for {
		wait := b.changed.wait()
		if p := b.page(made.TargetID); p != nil {
			b.mu.Lock()
			p.own = true
			b.mu.Unlock()
			return p, nil
		}
		select {
		case <-wait:
		case <-b.ctx.Done():
			return nil, fmt.Errorf("opening a tab: %w", ErrStopped)
		case <-ctx.Done():
			return nil, fmt.Errorf("opening a tab: %w", context.Cause(ctx))
		}
	}
}

func (b *Browser) page(id target.ID) *Page {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.pages {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// handle takes the events of the browser itself.
func (b *Browser) handle(method string, params jsonv2.Value) {
	switch method {
	case target.AttachedToTarget.Method:
		on(params, b.attached)
	case target.DetachedFromTarget.Method:
		on(params, func(e target.EventDetachedFromTarget) {
			for _, p := range b.Pages() {
				if p.session.id == e.SessionID {
					b.remove(p)
					return
				}
			}
			b.conn.closeSession(e.SessionID)
		})
	case cdpbrowser.DownloadWillBegin.Method:
		on(params, b.downloadBegins)
	case cdpbrowser.DownloadProgress.Method:
		on(params, b.downloadProgress)
	}
}

func (b *Browser) attached(e target.EventAttachedToTarget) {
	if e.TargetInfo.Type != "page" {
		b.endServiceWorker(e)
		return
	}
	p := newPage(b, e)
	b.mu.Lock()
	b.pages = append(b.pages, p)
	b.mu.Unlock()
	b.changed.fire()
}

// remove forgets a tab that is closed.
func (b *Browser) remove(p *Page) {
	b.mu.Lock()
	b.pages = slices.DeleteFunc(b.pages, func(other *Page) bool { return other == p })
	b.mu.Unlock()
	p.end()
	b.changed.fire()
}

// signal wakes everyone who waits for a change.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
