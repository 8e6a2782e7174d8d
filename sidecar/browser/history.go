package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// ErrNoHistory means that a tab has no page before the one on show.
var ErrNoHistory = errors.New("there is no page before this one")

// aborted is Chromium's word for a navigation that came to nothing.
const aborted = "net::ERR_ABORTED"

// Back goes to the page before in the tab's history and returns once it is committed: a document, or, where the page
// before is another state of the same one, the zero Document. Errors are ErrNoHistory, *NavigationError, ErrGone for a tab
// that is closed, and ctx's.
func (p *Page) Back(ctx context.Context) (Document, error) {
	p.supersede()
	select {
	case <-p.ready:
	case <-ctx.Done():
		return Document{}, fmt.Errorf("going back: %w", context.Cause(ctx))
	}
	from, err := p.history(ctx)
	if err != nil {
		return Document{}, err
	}
	if from.CurrentIndex < 1 || from.CurrentIndex >= int64(len(from.Entries)) {
		return Document{}, ErrNoHistory
	}
	to := from.Entries[from.CurrentIndex-1]
	if !p.browser.mayShow(to.URL) {
		p.browser.refuse(p, to.URL, false)
		return Document{}, &NavigationError{Text: aborted}
	}
	p.mu.Lock()
	before, crashes := p.activity, p.crashes
	p.mu.Unlock()
	if _, err := Do(ctx, p.session, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: to.ID}); err != nil {
		return Document{}, fmt.Errorf("going back: %w", err)
	}
	return p.left(ctx, from, before, crashes)
}

// historyPoll is how often the history is looked at again: Chromium's browser may hear later of a document than we do.
const historyPoll = 100 * time.Millisecond

// left waits until the tab has gone back from an entry of its history, or until that came to nothing: the answer was no
// document, the guard refused it, or another navigation took its place.
func (p *Page) left(ctx context.Context, from page.GetNavigationHistoryResult, before activity, crashes int) (Document, error) {
	ticker := time.NewTicker(historyPoll)
	defer ticker.Stop()
	for {
		changed := p.changed.wait()
		p.mu.Lock()
		now, crashed := p.activity, p.crashes != crashes
		p.mu.Unlock()
		committed, within := now.documents != before.documents, now.within != before.within
		ended := now.stops != before.stops && !now.loading
		if crashed {
			return Document{}, ErrCrashed
		}
		if committed || within || ended {
			history, err := p.history(ctx)
			switch stays := staysAt(from, history); {
			case err != nil:
				return Document{}, err
			case !stays && committed:
				return Document{loader: now.loader, crashes: crashes}, nil
			case !stays && within:
				return Document{}, nil
			case stays && ended:
				return Document{}, &NavigationError{Text: aborted}
			}
		}
		select {
		case <-changed:
		case <-ticker.C:
		case <-p.closed:
			return Document{}, ErrGone
		case <-ctx.Done():
			return Document{}, fmt.Errorf("going back: %w", context.Cause(ctx))
		}
	}
}

// staysAt tells whether a tab is still at the entry that it is to leave backwards, or went forwards from there.
func staysAt(from, now page.GetNavigationHistoryResult) bool {
	at := from.CurrentIndex
	return now.CurrentIndex >= at && int64(len(now.Entries)) > at && now.Entries[at].ID == from.Entries[at].ID
}

// history reads the tab's history; between two documents Chromium has none for a moment.
func (p *Page) history(ctx context.Context) (page.GetNavigationHistoryResult, error) {
	for {
		history, err := Do(ctx, p.session, page.GetNavigationHistory, cdp.Empty{})
		if err == nil {
			return history, nil
		}
		if err = gone(err); !errors.Is(err, ErrGone) {
			return history, fmt.Errorf("reading the tab's history: %w", err)
		}
		select {
		case <-time.After(historyPoll):
		case <-p.closed:
			return history, ErrGone
		case <-ctx.Done():
			return history, fmt.Errorf("reading the tab's history: %w", context.Cause(ctx))
		}
	}
}
