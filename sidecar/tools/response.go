package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
	"github.com/browser-sidecar/conformance/sidecar/mcp"
)

// response gathers what a call has to say; finish puts it in sections, in their fixed order.
type response struct {
	errors     []string
	results    []string
	code       []string
	events     []string
	thrownText string
	modal      bool          // tell the open dialog even without a page section
	listed     bool          // the result has the list of tabs, which stands for the page section
	snapshot   *aria.Options // the page as it is now is part of the result
}

func (r *response) fail(text string)   { r.errors = append(r.errors, text) }
func (r *response) result(text string) { r.results = append(r.results, text) }
func (r *response) ran(code string)    { r.code = append(r.code, code) }
func (r *response) event(text string)  { r.events = append(r.events, "- "+text) }

// thrown makes the text the whole result.
func (r *response) thrown(text string) { r.thrownText = text }

// failure is a result that is nothing but an error.
func failure(text string) mcp.Result {
	return mcp.Result{Content: []mcp.Content{{Type: "text", Text: "### Error\n" + text}}, IsError: true}
}

// How long a result may wait for what is nice to have.
const (
	snapshotLimit = 10 * time.Second
	pendingLimit  = 3 * time.Second // for a navigation to be answered
	titleLimit    = 500 * time.Millisecond
)

// longestSnapshot bounds a snapshot, in bytes; one that is longer is cut between two lines.
const longestSnapshot = 256 << 10

// finish makes the result of everything that was gathered.
func (c *call) finish(ctx context.Context) mcp.Result {
	if c.thrownText != "" {
		return failure(c.thrownText)
	}
	var sections []string
	section := func(title string, lines ...string) {
		if len(lines) > 0 {
			sections = append(sections, "### "+title+"\n"+strings.Join(lines, "\n"))
		}
	}
	modal := modalLines(c.page)
	shown, title := "", ""
	if c.snapshot != nil && len(modal) == 0 {
		taken, err := c.take(ctx)
		switch {
		case err == nil:
			shown, title = taken.Text, taken.Title
		case c.page.Dialog() != nil:
			modal = modalLines(c.page) // it opened while the snapshot was made
		default:
			return failure(describe(err))
		}
	}
	section("Error", c.errors...)
	section("Result", c.results...)
	if len(c.code) > 0 {
		section("Ran Playwright code", "```js", strings.Join(c.code, "\n"), "```")
	}
	if !c.modal {
		if title == "" && len(modal) == 0 {
			title = titleOf(ctx, c.page)
		}
		if lines, changed := c.pageLines(title); c.snapshot != nil || (changed && !c.listed) {
			if pages := c.openPages(); len(pages) != 1 {
				section("Open tabs", tabLines(ctx, pages, c.page)...)
			}
			section("Page", lines...)
		}
	}
	section("Modal state", modal...)
	if c.snapshot != nil && len(modal) == 0 {
		section("Snapshot", "```yaml", cut(shown), "```")
	}
	section("Events", append(c.events, c.downloadLines()...)...)
	return mcp.Result{
		Content: []mcp.Content{{Type: "text", Text: strings.Join(sections, "\n")}}, IsError: len(c.errors) > 0,
	}
}

// errPending is a snapshot that has to wait for a navigation for too long: there is no way into the page meanwhile.
var errPending = errors.New("a navigation is pending")

func (c *call) take(ctx context.Context) (aria.Snapshot, error) {
	limit, cause := snapshotLimit, context.DeadlineExceeded
	if c.page.Pending() {
		limit, cause = pendingLimit, errPending
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
	defer cancel()
	type outcome struct {
		taken aria.Snapshot
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		taken, err := aria.Take(ctx, c.page, *c.snapshot)
		done <- outcome{taken, err}
	}()
	// A dialog stops the page, and a walk in it as well.
	for {
		changed := c.page.Changed()
		if c.page.Dialog() != nil {
			cancel()
			<-done
			return aria.Snapshot{}, errInterrupted
		}
		select {
		case o := <-done:
			return o.taken, o.err
		case <-changed:
		}
	}
}

func modalLines(p *browser.Page) []string {
	if d := p.Dialog(); d != nil {
		return []string{fmt.Sprintf("- [%q dialog with message %q]: can be handled by browser_handle_dialog", d.Type, d.Message)}
	}
	return nil
}

// pageLines describes the tab, and tells whether the client hasn't been shown exactly that before.
func (c *call) pageLines(title string) ([]string, bool) {
	lines := []string{"- Page URL: " + c.page.URL()}
	if title != "" {
		lines = append(lines, "- Page Title: "+title)
	}
	if c.page.Crashed() {
		lines = append(lines, "- Page status: crashed")
	}
	if s := c.page.Status(); s.Code != 0 && (s.Code < 200 || s.Code > 299) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("- HTTP status: %d %s", s.Code, s.Text), " "))
	}
	if n := c.page.Console(); n.Errors+n.Warnings > 0 {
		lines = append(lines, fmt.Sprintf("- Console: %d errors, %d warnings", n.Errors, n.Warnings))
	}
	header := string(c.page.ID) + "\n" + strings.Join(lines, "\n")
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := header != c.header
	c.header = header
	return lines, changed
}

func (c *call) openPages() []*browser.Page {
	var open []*browser.Page
	for _, p := range c.set.browser.Pages() {
		if !p.Expelled() {
			open = append(open, p)
		}
	}
	return open
}

// tabLines lists the tabs. A tab that is busy is listed without its title rather than waited for, and one that went
// where it may not be shown, not at all.
func tabLines(ctx context.Context, pages []*browser.Page, current *browser.Page) []string {
	titles := make([]string, len(pages))
	var group sync.WaitGroup
	for i, p := range pages {
		group.Go(func() { titles[i] = titleOf(ctx, p) })
	}
	group.Wait()
	var lines []string
	for i, p := range pages {
		address := p.URL()
		if p.Expelled() {
			continue
		}
		mark, state := "", ""
		if p == current {
			mark = "(current) "
		}
		if p.Crashed() {
			state = " [crashed]"
		}
		lines = append(lines, fmt.Sprintf("- %d: %s[%s](%s)%s", len(lines), mark, titles[i], address, state))
	}
	if len(lines) == 0 {
		return []string{"No open tabs. Navigate to a URL to create one."}
	}
	return lines
}

func titleOf(ctx context.Context, p *browser.Page) string {
	if p.Dialog() != nil || p.Crashed() || p.Expelled() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, titleLimit)
	defer cancel()
	title, err := aria.Title(ctx, p)
	if errors.Is(err, browser.ErrGone) { // it went to another document just now
		title, err = aria.Title(ctx, p)
	}
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(title), " ")
}

// cut bounds a snapshot and says how to see the rest.
func cut(text string) string {
	if len(text) <= longestSnapshot {
		return text
	}
	end := strings.LastIndexByte(text[:longestSnapshot], '\n')
	if end < 0 {
		end = 0
	}
	return text[:end] + fmt.Sprintf("\n# … (truncated, %d characters in all; browser_snapshot with \"target\" shows one part, "+
		"with \"depth\" fewer levels)", len([]rune(text)))
}

// downloadLines tells of downloads that the client doesn't know of yet.
func (c *call) downloadLines() []string {
	var lines []string
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.page.Downloads() {
		if told, known := c.downloads[d.ID]; known && (told || !d.Done) {
			continue
		} else if !known {
			lines = append(lines, "- Downloading file "+d.Name+" ...")
		}
		if d.Done {
			lines = append(lines, fmt.Sprintf("- Downloaded file %s to %q", d.Name, filepath.Join(c.set.output, d.ID)))
		}
		c.downloads[d.ID] = d.Done
	}
	return lines
}
