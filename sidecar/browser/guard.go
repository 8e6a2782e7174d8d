package browser

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
)

// Refusal is a top-level navigation that the guard didn't let happen.
type Refusal struct {
	Number     int    // counts from 1
	Origin     string // where it would have led; a scheme only where there is no host
	Page       *Page
	Opener     *Page // the tab that opened it, where that is known
	Popup      bool  // a tab opened it, known or not
	Redirected bool  // a redirect led there, or it landed: the tab was closed
}

// Restrict keeps every tab on app's origin (and about:blank) from now on. A navigation elsewhere is refused before
// it leaves; where a redirect leads elsewhere, the tab is closed (contract: navigation).
func (b *Browser) Restrict(app *url.URL) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.app = app
}

// Refusals returns what the guard refused after the given number, and the newest number.
func (b *Browser) Refusals(after int) ([]Refusal, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Refusal
	for _, r := range b.refusals {
		if r.Number > after {
			list = append(list, r)
		}
	}
	return list, b.refused
}

// keptRefusals bounds the memory of refusals.
const keptRefusals = 64

// Origin returns scheme, host and port of an absolute URL, a default port left out; "" where there is no host. For blob:
// it is the origin inside. Case is folded in ASCII only: a browser has other rules for the rest, so that such a name is no
// other's equal.
func Origin(raw string) string {
	u, err := url.Parse(strings.TrimPrefix(raw, "blob:"))
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	host, port := lower(u.Hostname()), u.Port()
	if strings.Contains(host, "%") {
		return "" // an address with a zone, which a browser doesn't take
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" || (u.Scheme == "http" && port == "80") || (u.Scheme == "https" && port == "443") {
		return u.Scheme + "://" + host
	}
	return u.Scheme + "://" + host + ":" + port
}

func lower(host string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, host)
}

// mayShow tells whether a tab may be at the URL.
func (b *Browser) mayShow(raw string) bool {
	b.mu.Lock()
	app := b.app
	b.mu.Unlock()
	if app == nil || raw == "" || raw == "about:blank" || strings.HasPrefix(raw, "about:blank#") ||
		strings.HasPrefix(raw, "chrome-error://") {
		return true
	}
	return Origin(raw) == Origin(app.String())
}

// judge answers a paused request for a document: frames may load what the proxy lets them, a tab only the app.
func (p *Page) judge(s *Session, e fetch.EventRequestPaused) {
	if e.FrameID != p.mainID() || p.browser.mayShow(e.Request.URL) {
		Post(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
		return
	}
	// Aborted, not blocked: the tab stays where it was and shows no error page.
	Post(s, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonAborted})
	redirected := e.RedirectedRequestID != ""
	p.browser.refuse(p, e.Request.URL, redirected)
	if redirected || p.untouched() {
		p.browser.evict(p)
	}
}

// landed is told each document that a tab commits; one that should have been refused is closed at once.
func (p *Page) landed(raw string) {
	if p.browser.mayShow(raw) {
		return
	}
	p.browser.refuse(p, raw, true)
	p.browser.evict(p)
}

func (b *Browser) refuse(p *Page, raw string, redirected bool) {
	origin := Origin(raw)
	if origin == "" {
		origin, _, _ = strings.Cut(raw, ":")
		origin += ":"
	}
	opener := b.page(p.opener)
	b.mu.Lock()
	b.refused++
	b.refusals = append(b.refusals, Refusal{
		Number: b.refused, Origin: origin, Page: p, Opener: opener, Popup: !p.own, Redirected: redirected,
	})
	if extra := len(b.refusals) - keptRefusals; extra > 0 {
		b.refusals = b.refusals[extra:]
	}
	b.mu.Unlock()
	b.changed.fire()
	if redirected {
		b.log.Warn("closed a page that was redirected", "origin", origin)
	} else {
		b.log.Info("refused a navigation", "origin", origin)
	}
}

// evict closes a tab, and opens a blank one first when no other stays: Chromium may end with its last tab.
func (b *Browser) evict(p *Page) {
	p.expel()
	b.tasks.Go(func() {
		if !slices.ContainsFunc(b.Pages(), func(other *Page) bool { return !other.Expelled() }) {
			if _, err := b.NewPage(b.ctx); err != nil {
				b.log.Warn("opening a blank page failed", "error", err)
			}
		}
		ctx, cancel := context.WithTimeout(b.ctx, closeLimit)
		defer cancel()
		if _, err := Do(ctx, b.root, target.CloseTarget, target.CloseTargetParams{TargetID: p.ID}); err != nil {
			b.log.Debug("closing a page failed", "error", err)
		}
	})
}
