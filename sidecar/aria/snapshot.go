package aria

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// frameLimit bounds what one frame may cost a snapshot: one that doesn't answer is left out.
const frameLimit = 2 * time.Second

// Options say what a snapshot shows.
type Options struct {
	Session string           // whose refs these are; any text that is unique to a client
	Root    *browser.Element // only this element and what is in it; nil for the whole page
	Depth   int              // levels below it are left out; negative for all
	Boxes   bool             // each line tells its element's place
}

// Snapshot is a page as text: a line for each element, as YAML (grammar: docs of the tools).
type Snapshot struct {
	Text  string
	Title string // the main document's; "" for a part of the page
}

// part is one document's share, as the walker returns it.
type part struct {
	Text     string `json:"text"`
	Title    string `json:"title"`
	Numbered bool   `json:"numbered"`
	Frames   []struct {
		Line    int    `json:"line"`
		Indent  int    `json:"indent"`
		Entered bool   `json:"entered"`
		Frame   string `json:"frame"`
	} `json:"frames"`
}

type walkOptions struct {
	Session string `json:"session"`
	Prefix  string `json:"prefix"`
	Depth   *int   `json:"depth,omitempty"`
	Boxes   bool   `json:"boxes"`
}

// Take makes a snapshot of the page. It waits for no navigation that is under way: it shows the document that is
// there. A page that changes its document meanwhile is walked again.
func Take(ctx context.Context, p *browser.Page, o Options) (Snapshot, error) {
	frame := p.Main()
	if o.Root != nil {
		frame = o.Root.Frame()
	}
	for tries := 1; ; tries++ {
		lines, title, err := walk(ctx, frame, o, o.Root)
		if err == nil {
			return Snapshot{Text: strings.Join(lines, "\n"), Title: title}, nil
		}
		if !errors.Is(err, browser.ErrGone) || o.Root != nil || tries == 3 {
			return Snapshot{}, err
		}
	}
}

func walk(ctx context.Context, f *browser.Frame, o Options, root *browser.Element) ([]string, string, error) {
	prefix, document := f.Refs()
	options := walkOptions{Session: o.Session, Prefix: prefix, Boxes: o.Boxes}
	if o.Depth >= 0 {
		options.Depth = &o.Depth
	}
	args := []any{options, nil}
	if root != nil {
		args[1] = root
	}
	var p part
	if err := f.Call(ctx, script(), "snapshot", &p, args...); err != nil {
		return nil, "", err
	}
	if p.Numbered && !f.GiveRefs(document) {
		return nil, "", browser.ErrGone
	}
	lines := strings.Split(p.Text, "\n")
	if len(p.Frames) == 0 {
		return lines, p.Title, nil
	}
	return insert(lines, p, frames(ctx, f, o, p)), p.Title, nil
}

// frames walks the documents that f's snapshot shows, side by side; the lines of one that can't be walked are nil.
func frames(ctx context.Context, f *browser.Frame, o Options, p part) [][]string {
	ctx, cancel := context.WithTimeout(ctx, frameLimit)
	defer cancel()
	children := map[cdp.FrameID]*browser.Frame{}
	for _, child := range f.Children() {
		children[child.ID] = child
	}
	ids := make([]string, len(p.Frames))
	unknown := false
	for i, place := range p.Frames {
		ids[i] = place.Frame
		unknown = unknown || children[cdp.FrameID(place.Frame)] == nil
	}
	if unknown && len(children) > 0 {
		adopt(ctx, f, children)
		var found []string
		if f.Call(ctx, script(), "embedded", &found, o.Session) == nil && len(found) == len(ids) {
			ids = found
		}
	}
	parts := make([][]string, len(p.Frames))
	var group sync.WaitGroup
	for i, place := range p.Frames {
		child := children[cdp.FrameID(ids[i])]
		if child == nil || !place.Entered {
			continue
		}
		inner := o
		if inner.Depth >= 0 {
			inner.Depth -= place.Indent + 1
		}
		group.Go(func() {
			if lines, _, err := walk(ctx, child, inner, nil); err == nil {
				parts[i] = lines
			}
		})
	}
	group.Wait()
	return parts
}

// adopt tells the walker in f which element embeds which frame.
func adopt(ctx context.Context, f *browser.Frame, children map[cdp.FrameID]*browser.Frame) {
	var group sync.WaitGroup
	for id, child := range children {
		group.Go(func() {
			owner, err := child.Owner(ctx, script())
			if err != nil {
				return // it went away, or its element did
			}
			defer owner.Release()
			_ = f.Call(ctx, script(), "adopt", nil, owner, string(id))
		})
	}
	group.Wait()
}

// insert puts each frame's lines below the line of its element.
func insert(lines []string, p part, parts [][]string) []string {
	joined := make([]string, 0, len(lines))
	next := 0
	for i, line := range lines {
		if next == len(p.Frames) || p.Frames[next].Line != i {
			joined = append(joined, line)
			continue
		}
		inner := parts[next]
		indent := strings.Repeat("  ", p.Frames[next].Indent+1)
		next++
		if len(inner) == 0 || (len(inner) == 1 && inner[0] == "") {
			joined = append(joined, line)
			continue
		}
		joined = append(joined, line+":")
		for _, text := range inner {
			joined = append(joined, indent+text)
		}
	}
	return joined
}

// Forget lets a session that ended be forgotten in all frames of the page.
func Forget(ctx context.Context, p *browser.Page, session string) {
	var visit func(f *browser.Frame)
	visit = func(f *browser.Frame) {
		_ = f.Call(ctx, script(), "forget", nil, session)
		for _, child := range f.Children() {
			visit(child)
		}
	}
	visit(p.Main())
}

// Title reads the title of the page's document.
func Title(ctx context.Context, p *browser.Page) (string, error) {
	var title string
	err := p.Main().Call(ctx, script(), "title", &title)
	return title, err
}
