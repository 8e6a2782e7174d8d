package browser

import (
	"strings"
	"unicode"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
)

// Download is a file that a page offered. It is stored in the downloads folder under its ID, never under a name
// that the page gave.
type Download struct {
	ID   string
	Name string // the page's suggestion, for display: no control characters, at most 200 runes
	Done bool
}

// keptDownloads bounds what a tab remembers.
const keptDownloads = 32

// Downloads returns the tab's downloads since the last navigation that a tool made, oldest first.
func (p *Page) Downloads() []Download {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Download(nil), p.downloads...)
}

func (b *Browser) downloadBegins(e cdpbrowser.EventDownloadWillBegin) {
	p := b.owner(e.FrameID)
	if p == nil {
		return
	}
	b.mu.Lock()
	b.downloads[e.GUID] = p
	b.mu.Unlock()
	p.mu.Lock()
	p.downloads = append(p.downloads, Download{ID: e.GUID, Name: displayName(e.SuggestedFilename)})
	if extra := len(p.downloads) - keptDownloads; extra > 0 {
		p.downloads = p.downloads[extra:]
	}
	p.mu.Unlock()
	p.changed.fire()
}

func (b *Browser) downloadProgress(e cdpbrowser.EventDownloadProgress) {
	if e.State == cdpbrowser.DownloadProgressStateInProgress {
		return
	}
	b.mu.Lock()
	p := b.downloads[e.GUID]
	delete(b.downloads, e.GUID)
	b.mu.Unlock()
	if p == nil {
		return
	}
	p.mu.Lock()
	for i := range p.downloads {
		if p.downloads[i].ID == e.GUID {
			p.downloads[i].Done = e.State == cdpbrowser.DownloadProgressStateCompleted
		}
	}
	p.mu.Unlock()
	p.changed.fire()
}

// owner finds the tab that a frame belongs to.
func (b *Browser) owner(id cdp.FrameID) *Page {
	for _, p := range b.Pages() {
		p.mu.Lock()
		_, ok := p.frames[id]
		p.mu.Unlock()
		if ok {
			return p
		}
	}
	return nil
}

func displayName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > 200 {
		name = string(runes[:200])
	}
	return name
}
