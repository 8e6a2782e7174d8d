package tool

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// opensWithin bounds the time in which a popup opens or closes, from when its page wanted it.
const opensWithin = 5 * time.Second

// tab is a line of the list of tabs.
type tab struct {
	Index   int
	Current bool
	Title   string
	URL     string
}

var tabLine = regexp.MustCompile(`^- (\d+): (\(current\) )?\[(.*)\]\((.*)\)( \[crashed\])?$`)

// list reads the list of tabs, of which exactly one is current.
func list(ctx context.Context, session *lab.Session) []tab {
	GinkgoHelper()
	text := do(ctx, session, "browser_tabs", map[string]any{"action": "list"})
	_, lines, found := strings.Cut(text, "### Result\n")
	Expect(found).To(BeTrue(), "finding the section Result in %s", text)
	lines, _, _ = strings.Cut(lines, "\n### ")
	var tabs []tab
	current := 0
	for line := range strings.SplitSeq(lines, "\n") {
		match := tabLine.FindStringSubmatch(line)
		Expect(match).NotTo(BeNil(), "reading the line %q of the list of tabs", line)
		Expect(match[1]).To(Equal(strconv.Itoa(len(tabs))), "the index in the line %q", line)
		tabs = append(tabs, tab{Index: len(tabs), Current: match[2] != "", Title: match[3], URL: match[4]})
		if match[2] != "" {
			current++
		}
	}
	Expect(current).To(Equal(1), "how many tabs are current in %s", lines)
	return tabs
}

// shown is the list of the app's own pages, as path, title, and whether it is the session's current one. A sidecar may have
// blank tabs beside them.
func shown(ctx context.Context, l *lab.Lab, session *lab.Session) []string {
	GinkgoHelper()
	var pages []string
	for _, t := range list(ctx, session) {
		if path, ok := strings.CutPrefix(t.URL, l.AppURL("")); ok {
			page := path + " " + t.Title
			if t.Current {
				page += " (current)"
			}
			pages = append(pages, page)
		}
	}
	return pages
}

// index finds a page in the list of tabs.
func index(ctx context.Context, l *lab.Lab, session *lab.Session, path string) int {
	GinkgoHelper()
	tabs := list(ctx, session)
	i := slices.IndexFunc(tabs, func(t tab) bool { return t.URL == l.AppURL(path) })
	Expect(i).NotTo(BeNumerically("<", 0), "finding %s in the list of tabs: %v", path, tabs)
	return i
}

// selectPage makes a page's tab the session's current one.
func selectPage(ctx context.Context, l *lab.Lab, session *lab.Session, path string) {
	GinkgoHelper()
	do(ctx, session, "browser_tabs", map[string]any{"action": "select", "index": index(ctx, l, session, path)})
}

// numbered serves pages /1, /2, … with a field and a title each.
func numbered(l *lab.Lab, n int) {
	for i := range n {
		name := strconv.Itoa(i + 1)
		attack.Serve(l, "/"+name, "<title>Page "+name+"</title><h1>"+name+"</h1><input id=field>")
	}
}

// three opens the pages /1, /2 and /3 in tabs of a sidecar of its own; the last is current.
func three(ctx context.Context, l *lab.Lab) (*lab.Sidecar, *lab.Session) {
	GinkgoHelper()
	numbered(l, 3)
	s := attack.Start(ctx, l, nil)
	session := attack.Connect(ctx, s)
	open(ctx, l, session, "/1")
	for _, path := range []string{"/2", "/3"} {
		do(ctx, session, "browser_tabs", map[string]any{"action": "new", "url": l.AppURL(path)})
	}
	return s, session
}

// at says which page the session's calls go to, as the page itself sees it.
func at(ctx context.Context, session *lab.Session) string {
	GinkgoHelper()
	return read[string](ctx, session, "location.pathname")
}

func tabs(l *lab.Lab) {
	// "`browser_tabs` `list` names every open tab with index, title and URL, and marks the session's current one."
	It("lists every tab and marks the session's own", engine.Clause("tool.effects-tabs-list"), func(ctx SpecContext) {
		s, session := three(ctx, l)
		Expect(shown(ctx, l, session)).To(Equal([]string{"/1 Page 1", "/2 Page 2", "/3 Page 3 (current)"}), "the list of three tabs")
		other := attack.Connect(ctx, s)
		selectPage(ctx, l, other, "/2")
		Expect(shown(ctx, l, other)).To(Equal([]string{"/1 Page 1", "/2 Page 2 (current)", "/3 Page 3"}), "the list of another session")
		Expect(shown(ctx, l, session)).To(Equal([]string{"/1 Page 1", "/2 Page 2", "/3 Page 3 (current)"}), "the list of the first session")
		read[bool](ctx, session, "(window.open('/2?popup'), document.title = 'Changed', true)")
		Eventually(ctx, func(ctx context.Context) []string { return shown(ctx, l, session) }).WithTimeout(opensWithin).Should(Equal(
			[]string{"/1 Page 1", "/2 Page 2", "/3 Changed (current)", "/2?popup Page 2"},
		), "the list after a popup opened and a title changed")
	})

	// "`browser_tabs` `new` opens a tab, at `url` when that is given, and makes it the session's current one."
	It("opens a tab and makes it the current one", engine.Clause("tool.effects-tabs-new"), func(ctx SpecContext) {
		numbered(l, 2)
		session := attack.Connect(ctx, attack.Start(ctx, l, nil))
		open(ctx, l, session, "/1")
		read[bool](ctx, session, "(sessionStorage.tab = 'first', true)")
		text := do(ctx, session, "browser_tabs", map[string]any{"action": "new", "url": l.AppURL("/2")})
		Expect(text).To(ContainSubstring("Page 2"), "the result of browser_tabs new")
		Expect(l.Sites.RequestsTo(l.AppAddr().String(), "/2")).To(HaveLen(1), "the requests for the page at the app")
		Expect(at(ctx, session)).To(Equal("/2"), "where the session's calls go")
		Expect(read[string](ctx, session, "sessionStorage.tab ?? 'another'")).To(Equal("another"), "the tab of the new page")
		Expect(shown(ctx, l, session)).To(Equal([]string{"/1 Page 1", "/2 Page 2 (current)"}), "the list of tabs")
		before := len(list(ctx, session))
		do(ctx, session, "browser_tabs", map[string]any{"action": "new"})
		Expect(read[string](ctx, session, "location.href")).To(Equal("about:blank"), "where the session's calls go after new without a URL")
		Expect(list(ctx, session)).To(HaveLen(before+1), "the list of tabs")
	})

	// "`browser_tabs` `select` with `index` makes that tab the session's current one, and the following calls act there."
	It("selects the tab that the following calls act in", engine.Clause("tool.effects-tabs-select"), func(ctx SpecContext) {
		_, session := three(ctx, l)
		for _, path := range []string{"/2", "/1", "/3"} {
			selectPage(ctx, l, session, path)
			Expect(at(ctx, session)).To(Equal(path), "where the calls go after the tab of %s was selected", path)
			Expect(snapshot(ctx, session)).To(ContainSubstring("Page "+path[1:]), "the snapshot after the tab of %s was selected", path)
			do(ctx, session, "browser_type", map[string]any{"target": "#field", "text": "typed into " + path})
			Expect(read[string](ctx, session, "document.getElementById('field').value")).To(Equal("typed into "+path), "what the tab's field has")
		}
		for _, nowhere := range []int{len(list(ctx, session)), -1} {
			fail(ctx, session, "browser_tabs", map[string]any{"action": "select", "index": nowhere})
			Expect(at(ctx, session)).To(Equal("/3"), "where the calls go after a tab that isn't there, %d, was selected", nowhere)
		}
	})
}

func closing(l *lab.Lab) {
	// "`browser_tabs` `close` closes the tab at `index`, or the current one, and the session goes on in another."
	It("closes the tab at an index, or the current one", engine.Clause("tool.effects-tabs-close"), func(ctx SpecContext) {
		numbered(l, 3)
		session := attack.Connect(ctx, attack.Start(ctx, l, nil))
		open(ctx, l, session, "/1")
		// The page that opened the others sees which of them are closed.
		read[bool](ctx, session, "(window.two = window.open('/2'), window.three = window.open('/3'), true)")
		Eventually(ctx, func(ctx context.Context) []string { return shown(ctx, l, session) }).WithTimeout(opensWithin).Should(ConsistOf(
			"/1 Page 1 (current)", "/2 Page 2", "/3 Page 3"), "the list after two popups opened")
		closed := func(ctx context.Context) []bool { return read[[]bool](ctx, session, "[two.closed, three.closed]") }
		Expect(closed(ctx)).To(Equal([]bool{false, false}), "the control: whether the popups are closed, as their opener sees it")
		do(ctx, session, "browser_tabs", map[string]any{"action": "close", "index": index(ctx, l, session, "/2")})
		Expect(at(ctx, session)).To(Equal("/1"), "where the session's calls go after another tab was closed")
		Eventually(ctx, closed).WithTimeout(opensWithin).Should(Equal([]bool{true, false}), "whether the popups are closed, as their opener sees it")
		Expect(shown(ctx, l, session)).To(ConsistOf("/1 Page 1 (current)", "/3 Page 3"), "the list of tabs")
		fail(ctx, session, "browser_tabs", map[string]any{"action": "close", "index": len(list(ctx, session))})
		Expect(shown(ctx, l, session)).To(ConsistOf("/1 Page 1 (current)", "/3 Page 3"), "the list after a tab that isn't there was closed")
		do(ctx, session, "browser_tabs", map[string]any{"action": "close"})
		Expect(shown(ctx, l, session)).To(ConsistOf(HavePrefix("/3 Page 3")), "the list after the current tab was closed")
		Expect(at(ctx, session)).NotTo(Equal("/1"), "where the session goes on")
	})

	// "… and the session goes on in another", also when none is left, or when another session closed its tab.
	It("lets every session go on after its tab was closed", engine.Clause("tool.effects-tabs-close"), func(ctx SpecContext) {
		s, session := three(ctx, l)
		other := attack.Connect(ctx, s)
		selectPage(ctx, l, other, "/3")
		do(ctx, session, "browser_tabs", map[string]any{"action": "close"})
		Expect(at(ctx, session)).NotTo(Equal("/3"), "where the session goes on")
		Expect(at(ctx, other)).NotTo(Equal("/3"), "where the other session goes on")
		for range 2 {
			do(ctx, session, "browser_tabs", map[string]any{"action": "close"})
		}
		for _, each := range []*lab.Session{session, other} {
			open(ctx, l, each, "/2")
			Expect(at(ctx, each)).To(Equal("/2"), "where a session is after the tabs were closed and it opened a page")
		}
		attack.Alive(ctx, s)
	})
}
