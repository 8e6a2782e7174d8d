package browser

import (
	"context"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// CloseTab closes a tab and waits until it is gone. It opens a blank one first when no other stays: Chromium may end with
// its last tab.
func (b *Browser) CloseTab(ctx context.Context, p *Page) error {
	stays := func(other *Page) bool { return other != p && !other.Expelled() }
	if !slices.ContainsFunc(b.Pages(), stays) {
		if _, err := b.NewPage(ctx); err != nil {
			return fmt.Errorf("closing the last tab: %w", err)
		}
	}
	return p.Close(ctx)
}

// Show brings the tab to the front of its window. It waits for nothing: a page that hangs holds nobody up.
func (p *Page) Show() { Post(p.session, page.BringToFront, cdp.Empty{}) }
