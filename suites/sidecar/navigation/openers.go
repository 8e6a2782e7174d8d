package navigation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// opener is a tool by which an agent opens a URL.
type opener struct {
	tool string
	// fixed are its arguments beside the URL.
	fixed map[string]any
	// inNewTab tells that the page opens in a tab of its own, which then is the session's current one.
	inNewTab bool
}

func openers() []opener {
	return []opener{
		{tool: "browser_navigate"},
		{tool: "browser_tabs", fixed: map[string]any{"action": "new"}, inNewTab: true},
	}
}

// String is such as "browser_tabs new".
func (o opener) String() string {
	if o.inNewTab {
		return o.tool + " new"
	}
	return o.tool
}

func (o opener) arguments(url string) map[string]any {
	args := map[string]any{"url": url}
	maps.Copy(args, o.fixed)
	return args
}

// open calls the tool.
func (o opener) open(ctx context.Context, session *lab.Session, url string) *lab.ToolResult {
	GinkgoHelper()
	result, err := session.Call(ctx, o.tool, o.arguments(url))
	Expect(err).NotTo(HaveOccurred(), "%s with the URL %s", o, shown(url))
	return result
}

// opened wants the tool to open the URL, says where that is, and closes the tab again that it opened.
func (o opener) opened(ctx context.Context, session *lab.Session, url string) place {
	GinkgoHelper()
	result := o.open(ctx, session, url)
	if result.IsError {
		engine.Fail(o.String()+" with the URL "+shown(url), []string{"no error"}, result.Text)
	}
	at := where(ctx, session)
	o.put(ctx, session)
	return at
}

// put closes the tab that the tool opened.
func (o opener) put(ctx context.Context, session *lab.Session) {
	GinkgoHelper()
	if o.inNewTab {
		shut(ctx, session)
	}
}

// shut closes the session's current tab.
func shut(ctx context.Context, session *lab.Session) {
	GinkgoHelper()
	result, err := session.Call(ctx, "browser_tabs", map[string]any{"action": "close"})
	Expect(err).NotTo(HaveOccurred(), "closing a tab")
	Expect(result.IsError).To(BeFalse(), "closing a tab: %s", result.Text)
}

// offered ends the spec where the target has no such tool.
func offered(ctx context.Context, session *lab.Session, tool string) {
	GinkgoHelper()
	if !has(ctx, session, tool) {
		engine.CouldNotRun("the target offers no tool %s", tool)
	}
}

func has(ctx context.Context, session *lab.Session, tool string) bool {
	GinkgoHelper()
	raw, err := session.Request(ctx, "tools/list", map[string]any{})
	Expect(err).NotTo(HaveOccurred(), "listing the tools")
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	Expect(json.Unmarshal(raw, &list)).To(Succeed(), "reading the list of tools")
	for _, t := range list.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// place is what a session's tab shows.
type place struct {
	Href   string `json:"href"`
	Origin string `json:"origin"`
	Title  string `json:"title"`
	// Mark is what mark left in the document, and Tab what it left in the tab.
	Mark string `json:"mark"`
	Tab  string `json:"tab"`
}

// where asks the page in a session's tab.
func where(ctx context.Context, session *lab.Session) place {
	GinkgoHelper()
	var at place
	// A page without an origin has no storage.
	const ask = `() => { let tab = ''; try { tab = sessionStorage.getItem('tab') ?? '' } catch {}
		return { href: location.href, origin: location.origin, title: document.title, mark: window.mark ?? '', tab } }`
	Expect(session.Evaluate(ctx, ask, &at)).To(Succeed(), "asking the page in the session's tab where it is")
	return at
}

// mark opens a page of the app and marks its document, which another doesn't inherit, and its tab, which another tab
// doesn't. It returns the tab's earlier mark.
func mark(ctx context.Context, l *lab.Lab, session *lab.Session, text string) string {
	GinkgoHelper()
	Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "the control: opening the app")
	var marked struct{ Href, Earlier string }
	Expect(session.Evaluate(ctx, `() => { const Earlier = sessionStorage.getItem('tab') ?? ''; window.mark = '`+text+`';
		sessionStorage.setItem('tab', '`+text+`'); return { Href: location.href, Earlier } }`, &marked)).To(Succeed(), "marking the page")
	Expect(marked.Href).To(Equal(l.AppURL("/pages/index.html")), "the control: where the marked page is")
	return marked.Earlier
}

// tabs lists the lines of the open tabs (spec/sidecar/tools.md), or none where the target can't list them.
func tabs(ctx context.Context, session *lab.Session) []string {
	GinkgoHelper()
	if !has(ctx, session, "browser_tabs") {
		return nil
	}
	result, err := session.Call(ctx, "browser_tabs", map[string]any{"action": "list"})
	Expect(err).NotTo(HaveOccurred(), "listing the tabs")
	Expect(result.IsError).To(BeFalse(), "listing the tabs: %s", result.Text)
	var lines []string
	for line := range strings.Lines(result.Text) {
		if number, _, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": "); ok && strings.Trim(number, "0123456789") == "" {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// tidy closes the session's tab while there are more than so many.
func tidy(ctx context.Context, session *lab.Session, most int) {
	GinkgoHelper()
	for range len(tabs(ctx, session)) - most {
		shut(ctx, session)
	}
}

// tabs counts the tabs where the tool opens some.
func (o opener) tabs(ctx context.Context, session *lab.Session) int {
	GinkgoHelper()
	if !o.inNewTab {
		return 0
	}
	return len(tabs(ctx, session))
}

// tidy closes what the tool left open beyond so many.
func (o opener) tidy(ctx context.Context, session *lab.Session, most int) {
	GinkgoHelper()
	if o.inNewTab {
		tidy(ctx, session, most)
	}
}

// shown is a URL as failures quote it: readable whatever is in it, and not too long.
func shown(url string) string { return fmt.Sprintf("%.160q", url) }
