package mcp

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// notJSON are bodies that no reader takes for JSON (RFC 8259 §2).
func notJSON() []string {
	good := list("1")
	return []string{
		"", " ", "\r\n", "{", "}", "[", `{"jsonrpc":"2.0"`, good[:len(good)-1], good + "}", good + good, good + "\n" + good, good + ",", good + "x",
		"ping", "undefined", "NaN", "nul", "True", `'{"jsonrpc":"2.0"}'`, `{'jsonrpc':'2.0','id':1,'method':'tools/list'}`,
		`{jsonrpc:"2.0",id:1,method:"tools/list"}`, strings.Replace(good, "}", ",}", 1), strings.Replace(good, `"id":1`, `"id":01`, 1),
		strings.Replace(good, `"id":1`, `"id":+1`, 1), strings.Replace(good, `"id":1`, `"id":1.`, 1), strings.Replace(good, `"id":1`, `"id":`, 1),
		strings.Replace(good, `"id":1`, `"id":0x1`, 1), strings.Replace(good, `"id":1`, "\"id\":\"a\nb\"", 1),
		strings.Replace(good, `"id":1`, `"id":"\x41"`, 1), strings.Replace(good, `"id":1`, `"id":"\u12"`, 1),
		strings.Replace(good, `"id":1`, `"id":1 // a comment`, 1), strings.Replace(good, `"id":1`, `/* a comment */ "id":1`, 1),
		"jsonrpc=2.0&id=1&method=tools/list", "<?xml version=\"1.0\"?><methodCall/>", "\x00", strings.Repeat("\x00", 100), good + "\x00",
		"\x1f\x8b\x08\x00", "event: message\ndata: " + good + "\n\n", "Content-Length: 2\r\n\r\n{}",
	}
}

// notMessages are JSON, but no JSON-RPC 2.0 messages (JSON-RPC 2.0 §4, §5).
func notMessages() []string {
	return []string{
		"null", "true", "7", "-1.5e3", `""`, `"tools/list"`, "{}", "[]", "[[]]", "[null]",
		`{"id":1,"method":"tools/list"}`, `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, `{"jsonrpc":2.0,"id":1,"method":"tools/list"}`,
		`{"jsonrpc":2,"id":1,"method":"tools/list"}`, `{"jsonrpc":"2","id":1,"method":"tools/list"}`, `{"jsonrpc":"","id":1,"method":"tools/list"}`,
		`{"jsonrpc":null,"id":1,"method":"tools/list"}`, `{"jsonrpc":["2.0"],"id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0 ","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1,"method":null}`,
		`{"jsonrpc":"2.0","id":1,"method":["tools/list"]}`, `{"jsonrpc":"2.0","id":1,"method":{}}`, `{"jsonrpc":"2.0","method":7}`,
		`{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","params":{}}`,
	}
}

// doubtful are bodies that readers judge differently, each by right, or that are large: only that they are answered counts.
func doubtful() []string {
	good := list("1")
	deep := func(n int) string {
		return request("1", "tools/call", `{"name":"browser_evaluate","arguments":`+strings.Repeat(`{"a":[`, n)+strings.Repeat(`]}`, n)+`}`)
	}
	return []string{
		"\ufeff" + good, "\xff\xfe{\x00}\x00", strings.Replace(good, `"id":1`, "\"id\":\"\xff\xc0\xaf\"", 1), request(`"\ud800"`, "tools/list", "{}"),
		request(`"\udc00\ud800"`, "tools/list", "{}"), request("1", "tools/list", `{"\ud800":"\uffff"}`), deep(100), deep(5_000), deep(100_000),
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 100_000),
		request("1", "tools/list", `{"n":1e999999,"m":-1e-999999,"k":`+strings.Repeat("9", 100_000)+`}`),
		request("1", strings.Repeat("m", 1<<20), "{}"), request("1", "tools/list", `"x"`), request("1", "tools/list", "[]"),
		request("1", "tools/list", "null"), request("1", "tools/list", `{"cursor":7}`), request("1", "tools/call", "null"),
		request("1", "tools/call", "[]"), request("1", "tools/call", "{}"), request("1", "tools/call", `{"name":7}`),
		request("1", "tools/call", `{"name":"browser_evaluate","arguments":7}`), request("1", "tools/call", `{"name":"browser_evaluate","arguments":[]}`),
		request("1", "tools/call", `{"name":"browser_evaluate","arguments":{"function":{}}}`), request("1", "tools/call", `{"name":null}`),
		request("1", "initialize", "null"), request("1", "initialize", "[]"), request("1", "initialize", `{"protocolVersion":"2025-06-18"}`),
		request("1", "initialize", `{"capabilities":{}}`), `{"jsonrpc":"2.0","method":"initialize"}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":"no"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`,
	}
}

func faults(l *lab.Lab) {
	It("answers what isn't JSON with -32700", engine.Clause("mcp.errors"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		// "A body that isn't JSON gives error -32700 …"
		for _, body := range notJSON() {
			for _, session := range []string{m.ID, ""} {
				faulty("posting "+quoted(short(body)), post(ctx, s, session, body), 400, -32700, null)
			}
			works(ctx, s, m.ID, "after posting "+quoted(short(body)))
		}
	})

	// "… JSON that isn't a JSON-RPC 2.0 message gives -32600 …"
	It("answers what is no message with -32600", engine.Clause("mcp.errors"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		for _, body := range notMessages() {
			for _, session := range []string{m.ID, ""} {
				faulty("posting "+body, post(ctx, s, session, body), 400, -32600, null)
			}
			works(ctx, s, m.ID, "after posting "+body)
		}
	})

	// "… and a request with an unknown method gives -32601 with the request's id."
	It("answers an unknown method with -32601", engine.Clause("mcp.errors"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		for _, method := range []string{
			"no/such", "", "tools", "tools/", "/tools/list", "tools/list/x", "Tools/List", "TOOLS/LIST", "tools/list ", " tools/list", "browser_snapshot",
			"browser_evaluate", "constructor", "__proto__", "toString", "rpc.discover",
		} {
			for _, id := range []string{"7", `"x"`} {
				faulty("a request with the method "+quoted(method), post(ctx, s, m.ID, request(id, method, "{}")), 200, -32601, id)
			}
		}
		works(ctx, s, m.ID, "after requests with unknown methods")
	})

	// Which of the errors they give is open, but not whether they are answered.
	It("answers every odd body, and goes on", engine.Clause("mcp.errors"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		for _, body := range doubtful() {
			did := "posting " + quoted(short(body))
			answer := post(ctx, s, m.ID, body)
			Expect(answer.Status).To(BeNumerically("<", 500), "%s: %s", did, answer)
			if answer.Header.Get("Mcp-Session-Id") != "" && strings.Contains(body, "initialize") {
				opened(did, s, answer)
			}
			if answer.Status == 200 || answer.Status == 400 {
				rpc(did, answer)
			}
			works(ctx, s, m.ID, "after "+did)
		}
	})
}
