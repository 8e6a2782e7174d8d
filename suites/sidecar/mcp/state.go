package mcp

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// use calls a tool that must succeed, and returns its text.
func use(ctx context.Context, m *lab.Session, tool string, arguments map[string]any) string {
	GinkgoHelper()
	answer, err := m.Call(ctx, tool, arguments)
	Expect(err).NotTo(HaveOccurred(), "calling %s %v", tool, arguments)
	Expect(answer.IsError).To(BeFalse(), "calling %s %v: %s", tool, arguments, answer.Text)
	return answer.Text
}

// refuses calls a tool that must answer with an error of its own.
func refuses(ctx context.Context, m *lab.Session, tool string, arguments map[string]any) {
	GinkgoHelper()
	answer, err := m.Call(ctx, tool, arguments)
	Expect(err).NotTo(HaveOccurred(), "calling %s %v", tool, arguments)
	Expect(answer.IsError).To(BeTrue(), "calling %s %v is an error of the tool: %s", tool, arguments, answer.Text)
}

// refOf is the ref of an element in a snapshot.
func refOf(snapshot, element string) string {
	GinkgoHelper()
	found := regexp.MustCompile(regexp.QuoteMeta(element) + `.*\[ref=(\w+)\]`).FindStringSubmatch(snapshot)
	Expect(found).NotTo(BeNil(), "the ref of %s in the snapshot %s", element, snapshot)
	return found[1]
}

// where is the path of the page that a session shows.
func where(ctx context.Context, m *lab.Session) string {
	GinkgoHelper()
	return read[string](ctx, m, "() => location.pathname")
}

// tab opens a page in a new tab of a session.
func tab(ctx context.Context, m *lab.Session, url string) {
	GinkgoHelper()
	use(ctx, m, "browser_tabs", map[string]any{"action": "new", "url": url})
}

// tabs is a session's list of tabs, a line for each.
func tabs(ctx context.Context, m *lab.Session) []string {
	GinkgoHelper()
	var lines []string
	for line := range strings.SplitSeq(use(ctx, m, "browser_tabs", map[string]any{"action": "list"}), "\n") {
		if strings.HasPrefix(line, "- ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// indexOf is the index of the tab that shows a URL.
func indexOf(lines []string, url string) int {
	GinkgoHelper()
	for _, line := range lines {
		var index int
		if _, err := fmt.Sscanf(line, "- %d:", &index); err == nil && strings.Contains(line, "("+url+")") {
			return index
		}
	}
	Fail(fmt.Sprintf("no tab shows %s among %q", url, lines))
	return 0
}

func state(l *lab.Lab) {
	// "Element refs … are a session's own …: a ref of one session means nothing in another …"
	It("keeps a session's refs its own", engine.Clause("mcp.session-state"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		mine, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		url := serve(l, "/refs", `<button onclick="clicks.push('Go')">Go</button><script>window.clicks = []</script>`)
		visit(ctx, mine, url)
		ref := refOf(use(ctx, mine, "browser_snapshot", nil), `button "Go"`)
		for tool, arguments := range map[string]map[string]any{
			"browser_click":    {"element": "Go", "target": ref},
			"browser_evaluate": {"target": ref, "function": `(e) => { e.click(); return "clicked" }`},
		} {
			refuses(ctx, other, tool, arguments)
			Expect(read[[]string](ctx, mine, "() => clicks")).To(BeEmpty(), "what was clicked by %s with another session's ref", tool)
		}
		// The other session's snapshot of the changed page takes nothing from this one's refs.
		use(ctx, mine, "browser_evaluate", map[string]any{
			"function": `() => { document.body.insertAdjacentHTML("afterbegin", "<button onclick=\"clicks.push('New')\">New</button>") }`,
		})
		use(ctx, other, "browser_snapshot", nil)
		use(ctx, mine, "browser_click", map[string]any{"element": "Go", "target": ref})
		Expect(read[[]string](ctx, mine, "() => clicks")).To(Equal([]string{"Go"}), "what was clicked by the session's own ref")
	})

	// "… the current tab … a session's own, while the pages are shared: … a page that one session opened is in the tab list
	// of the other."
	It("keeps a session's current tab its own, and shares the pages", engine.Clause("mcp.session-state"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		first, second := serve(l, "/first", ""), serve(l, "/second", "")
		mine, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		visit(ctx, other, first)
		tab(ctx, mine, second)
		Expect(where(ctx, mine)).To(Equal("/second"), "where the session is that opened a tab")
		Expect(where(ctx, other)).To(Equal("/first"), "where the other session is")
		for m, current := range map[*lab.Session]string{mine: second, other: first} {
			Expect(tabs(ctx, m)).To(ContainElements(ContainSubstring("("+first+")"), ContainSubstring("("+second+")")), "the tabs of a session")
			Expect(tabs(ctx, m)).To(ContainElement(And(ContainSubstring("(current)"), ContainSubstring("("+current+")"))), "the tabs of a session")
		}
		// The other way round, and a tab that both show.
		use(ctx, other, "browser_tabs", map[string]any{"action": "select", "index": indexOf(tabs(ctx, other), second)})
		use(ctx, mine, "browser_tabs", map[string]any{"action": "select", "index": indexOf(tabs(ctx, mine), first)})
		Expect(where(ctx, other)).To(Equal("/second"), "where the other session is after it selected a tab")
		Expect(where(ctx, mine)).To(Equal("/first"), "where the session is after it selected the other tab")
		use(ctx, mine, "browser_evaluate", map[string]any{"function": `() => { window.said = "hello" }`})
		use(ctx, other, "browser_tabs", map[string]any{"action": "select", "index": indexOf(tabs(ctx, other), first)})
		Expect(read[string](ctx, other, "() => window.said")).To(Equal("hello"), "what one session left in a page that both show")
	})

	// "… and the modal state are a session's own …"
	It("keeps a session's modal state its own", engine.Clause("mcp.session-state"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		calm, modal := serve(l, "/calm", ""), serve(l, "/modal", "")
		mine, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		visit(ctx, other, calm)
		tab(ctx, mine, modal)
		use(ctx, mine, "browser_evaluate", map[string]any{"function": `() => { setTimeout(() => alert("wait"), 0) }`})
		Eventually(ctx, func(g Gomega) {
			answer, err := mine.Call(ctx, "browser_snapshot", nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.Text).To(ContainSubstring("does not handle the modal state"))
		}).WithTimeout(soon).WithPolling(50*time.Millisecond).Should(Succeed(), "the control: the dialog keeps its own session waiting")
		Expect(use(ctx, other, "browser_snapshot", nil)).NotTo(ContainSubstring("Modal state"), "the other session's snapshot")
		Expect(where(ctx, other)).To(Equal("/calm"), "where the other session is")
		refuses(ctx, other, "browser_handle_dialog", map[string]any{"accept": true})
		use(ctx, mine, "browser_handle_dialog", map[string]any{"accept": true})
		Expect(where(ctx, mine)).To(Equal("/modal"), "where the session is after its dialog")
	})
}
