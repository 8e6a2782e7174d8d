package mcp

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// member is a name in a message, with a value that a rule lets pass and one that it refuses.
type member struct{ name, allowed, forbidden string }

// twins are names that some readers take for the given one: the same, the same with an escape, another case, and, since
// folding a case knows more letters than ASCII has, the long s (U+017F) for s.
func twins(name string) []string {
	all := []string{name, fmt.Sprintf(`\u%04x%s`, name[0], name[1:]), strings.ToUpper(name[:1]) + name[1:]}
	if strings.Contains(name, "s") {
		all = append(all, strings.Replace(name, "s", "\u017f", 1))
	}
	return all
}

// doubled are the ways to write a member twice, in both orders, and the forbidden value alone under another name.
func (m member) doubled() []string {
	var all []string
	own := fmt.Sprintf(`"%s":%s`, m.name, m.allowed)
	for _, twin := range twins(m.name) {
		other := fmt.Sprintf(`"%s":%s`, twin, m.forbidden)
		all = append(all, own+","+other, other+","+own)
		if twin != m.name {
			all = append(all, fmt.Sprintf(`"%s":%s,"%s":%s`, m.name, m.forbidden, twin, m.allowed),
				fmt.Sprintf(`"%s":%s,"%s":%s`, twin, m.allowed, m.name, m.forbidden), other)
		}
	}
	return all
}

// doubtfulCalls are calls with a doubled member somewhere, whose one reading opens a page of the app or does nothing, and
// whose other would open a URL elsewhere. Each URL elsewhere is its own.
func doubtfulCalls(ok string, elsewhere func() string) []string {
	var all []string
	add := func(m func(forbidden string) member, message string) {
		for i := range m("").doubled() {
			all = append(all, strings.Replace(message, "@", m(elsewhere()).doubled()[i], 1))
		}
	}
	navigate := func(url string) string { return fmt.Sprintf(`{"name":"browser_navigate","arguments":{"url":%q}}`, url) }
	add(func(url string) member { return member{"url", quoted(ok), quoted(url)} },
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_navigate","arguments":{@}}}`)
	add(func(url string) member {
		return member{"arguments", `{"url":` + quoted(ok) + `}`, `{"url":` + quoted(url) + `}`}
	},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_navigate",@}}`)
	add(func(url string) member { return member{"params", navigate(ok), navigate(url)} },
		`{"jsonrpc":"2.0","id":1,"method":"tools/call",@}`)
	add(func(string) member { return member{"name", `"browser_snapshot"`, `"browser_navigate"`} },
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{@,"arguments":{"url":`+quoted(elsewhere())+`}}}`)
	add(func(string) member { return member{"method", `"ping"`, `"tools/call"`} },
		`{"jsonrpc":"2.0","id":1,@,"params":`+navigate(elsewhere())+`}`)
	// The other tools that open a URL.
	add(func(string) member { return member{"action", `"list"`, `"new"`} },
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_tabs","arguments":{@,"url":`+quoted(elsewhere())+`}}}`)
	add(func(url string) member { return member{"url", quoted(ok), quoted(url)} },
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_tabs","arguments":{"action":"new",@}}}`)
	// A tool that is denied.
	code := `async (page) => { await page.evaluate(url => fetch(url, {mode: "no-cors"}), %q) }`
	add(func(string) member { return member{"name", `"browser_snapshot"`, `"browser_run_code_unsafe"`} },
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{@,"arguments":{"code":`+quoted(fmt.Sprintf(code, elsewhere()))+`}}}`)
	return all
}

func reading(l *lab.Lab) {
	// "A message whose members are doubled or differ only in case (name and Name, url twice) is refused, or every part of the
	// sidecar reads it the same way: no rule about navigation, denied tools or control is passed by it."
	It("is passed by no message with two readings", engine.Clause("mcp.one-reading"), SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		m := attack.Connect(ctx, s)
		ok := serve(l, "/one-reading", "")
		n := 0
		next := func() string { n++; return l.PublicURL(0, fmt.Sprintf("/elsewhere/%d", n)) }
		calls := doubtfulCalls(ok, next)

		// The controls: the call with one reading opens the page; the browser could reach the other place; a call there is refused.
		visit(ctx, m, ok)
		use(ctx, m, "browser_evaluate", map[string]any{"function": fmt.Sprintf(`() => fetch(%q, {mode: "no-cors"}).then(r => r.text())`, l.PublicURL(0, "/cors"))})
		Expect(l.Sites.RequestsTo("", "/cors")).NotTo(BeEmpty(), "the control: a page of the app reaches the public site")
		refuses(ctx, m, "browser_navigate", map[string]any{"url": next()})

		for _, body := range calls {
			answer := post(ctx, s, m.ID, body)
			did := "posting " + body
			Expect(answer.Status).To(BeNumerically("<", 500), "%s: %s", did, answer)
			for _, r := range l.Sites.Requests() {
				if strings.HasPrefix(r.Path, "/elsewhere/") {
					engine.Fail(did, []string{"no request leaves the app"}, fmt.Sprintf("%s, and %s asked for %s", answer, r.Host, r.Path))
				}
			}
		}
		visit(ctx, m, ok)
		Expect(where(ctx, m)).To(Equal("/one-reading"), "where the session is afterwards")
		for _, r := range l.Sites.Requests() {
			Expect(r.Path).NotTo(HavePrefix("/elsewhere/"), "a request that left the app by a message with two readings")
		}
	})
}
