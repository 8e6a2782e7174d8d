package tools

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

func tabs() *tool {
	return &tool{
		name: "browser_tabs", title: "Manage tabs", inModal: true,
		description: "List the tabs, open one, close one, or select the one that the following calls act on",
		fields: []field{
			{
				name: "action", kind: text, required: true, options: []string{"list", "new", "close", "select"},
				description: "What to do",
			},
			{name: "index", kind: number, description: "The tab to close or select, as the list numbers it; close takes the current one without it"},
			{name: "url", kind: text, description: "What a new tab opens: a full URL on the app's origin, or a path; blank without it"},
		},
		run: runTabs,
	}
}

func runTabs(ctx context.Context, c *call) error {
	var err error
	switch c.args.text("action") {
	case "new":
		err = newTab(ctx, c)
	case "close":
		err = closeTab(ctx, c)
	case "select":
		selectTab(c)
	}
	if err != nil || c.thrownText != "" {
		return err
	}
	c.listed = true
	c.result(strings.Join(tabLines(ctx, c.openPages(), c.page), "\n"))
	return nil
}

func newTab(ctx context.Context, c *call) error {
	address := ""
	if c.args.has("url") {
		var ok bool
		if address, ok = destination(c.set.app, c.args.text("url")); !ok {
			c.refuse(c.args.text("url"))
			return nil
		}
	}
	page, err := c.set.browser.NewPage(ctx)
	if err != nil {
		return err
	}
	c.use(page)
	if address == "" {
		return nil
	}
	return c.interruptible(ctx, func(ctx context.Context) error { return visit(ctx, c, address) })
}

func selectTab(c *call) {
	if !c.args.has("index") {
		c.thrown("Error: Tab index is required")
		return
	}
	if page := c.tab(); page != nil {
		c.use(page)
		page.Show()
	}
}

func closeTab(ctx context.Context, c *call) error {
	page := c.page
	if c.args.has("index") {
		if page = c.tab(); page == nil {
			return nil
		}
	}
	if err := c.set.browser.CloseTab(ctx, page); err != nil {
		return err
	}
	current, err := c.currentPage(ctx)
	c.page = current
	return err
}

// tab is the tab that the call's index names, or nil, and then the call says so.
func (c *call) tab() *browser.Page {
	index, pages := c.args.number("index"), c.openPages()
	if index != math.Trunc(index) || index < 0 || index >= float64(len(pages)) {
		c.thrown(fmt.Sprintf("Error: Tab %s not found", strconv.FormatFloat(index, 'g', -1, 64)))
		return nil
	}
	return pages[int(index)]
}

// use makes a tab the session's current one.
func (c *call) use(page *browser.Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page, c.current = page, page
}
