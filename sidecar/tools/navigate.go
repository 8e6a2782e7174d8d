package tools

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

const (
	navigationLimit = 60 * time.Second
	loadLimit       = 5 * time.Second
)

func navigate() *tool {
	return &tool{
		name: "browser_navigate", title: "Navigate to a URL",
		description: "Open a page of the sandbox app: a full URL on the app's origin, or a path such as /login",
		fields:      []field{{name: "url", kind: text, required: true, description: "The URL or path to open"}},
		run:         runNavigate,
	}
}

func runNavigate(ctx context.Context, c *call) error {
	address, ok := destination(c.set.app, c.args.text("url"))
	if !ok {
		c.refuse(c.args.text("url"))
		return nil
	}
	return visit(ctx, c, address)
}

// refuse says that what an agent named may not be opened.
func (c *call) refuse(named string) {
	c.thrown(fmt.Sprintf("Navigation to %s was refused: this browser may only open pages of the sandbox app at %s",
		shorten(named), c.set.origin()))
}

// visit opens an address in the call's tab and shows it.
func visit(ctx context.Context, c *call, address string) error {
	bounded, cancel := context.WithTimeout(ctx, navigationLimit)
	defer cancel()
	document, err := c.page.Navigate(bounded, address)
	if err == nil {
		err = loaded(bounded, c.page, document)
	}
	waiting := fmt.Sprintf("  - navigating to %q, waiting until \"domcontentloaded\"", address)
	var refused *browser.NavigationError
	switch {
	case err == nil:
	case errors.As(err, &refused) && refused.IsDownload:
		// The tab stays where it was; the download is told as an event.
	case errors.As(err, &refused):
		c.thrown(fmt.Sprintf("Error: %s at %s\nCall log:\n%s\n", refused.Text, address, waiting))
		return nil
	case bounded.Err() != nil && ctx.Err() == nil:
		return &timeoutError{limit: navigationLimit, log: []string{waiting}}
	default:
		return err
	}
	c.ran("await page.goto(" + quoteJS(address) + ");")
	c.snapshot = &aria.Options{Session: c.id, Depth: -1}
	return nil
}

// loaded waits for the document, and not for long for all that it loads: a page that goes on loading is shown as it is.
func loaded(ctx context.Context, p *browser.Page, d browser.Document) error {
	if err := p.WaitFor(ctx, d, "DOMContentLoaded"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	_ = p.WaitFor(ctx, d, "load")
	return nil
}

// destination says where an agent's text leads: to the app's origin, to about:blank, or, with false, to nowhere that
// may be opened. It reads the text more strictly than a browser does, so that both read it the same way.
func destination(app *url.URL, raw string) (string, bool) {
	raw = strings.TrimSpace(raw)
	if raw == "about:blank" {
		return raw, true
	}
	origin := browser.Origin(app.String())
	// Browsers drop tabs and newlines and take backslashes for slashes: no honest address needs either.
	path, _, _ := strings.Cut(raw, "?")
	path, _, _ = strings.Cut(path, "#")
	if strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.Contains(path, `\`) {
		return "", false
	}
	if strings.HasPrefix(raw, "/") {
		if strings.HasPrefix(raw, "//") {
			return "", false
		}
		raw = origin + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.User != nil || !strings.Contains(strings.ToLower(raw), "://") {
		return "", false
	}
	if u.Scheme != app.Scheme || browser.Origin(raw) != origin {
		return "", false
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), true
}

// shorten bounds what is echoed of an agent's text.
func shorten(text string) string {
	const longest = 200
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

// quoteJS quotes a text as JavaScript, in single quotes.
func quoteJS(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(text) + "'"
}
