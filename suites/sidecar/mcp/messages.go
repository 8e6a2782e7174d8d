package mcp

import (
	"mime"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func messages(l *lab.Lab) {
	// "A POST with one JSON-RPC request is answered with exactly one JSON body of content-type: application/json, also when
	// the Accept header names only that type or is missing."
	It("answers a request with one JSON body", engine.Clause("mcp.json"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/json", ""))
		for _, accept := range []string{
			"application/json, text/event-stream", "text/event-stream, application/json", "application/json;q=0.5, text/event-stream",
			"application/json", "application/json; charset=utf-8", "*/*", "",
		} {
			for did, body := range map[string]string{
				"initialize":        hello("1", `"2025-06-18"`),
				"tools/list":        list("1"),
				"a call that waits": evaluate("1", markAnd(l, "waited", 300*time.Millisecond)),
				"a call that fails": call("1", "browser_no_such", "{}"),
				"an unknown method": request("1", "no/such", "{}"),
			} {
				r := s.Message(m.ID, body).Without("Accept")
				if accept != "" {
					r = r.Add("Accept", accept)
				}
				did += " with Accept " + quoted(accept)
				answer := do(ctx, s, did, r)
				Expect(answer.Status).To(Equal(200), "%s: %s", did, answer)
				kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
				Expect(err).NotTo(HaveOccurred(), "the content type of the answer to %s", did)
				Expect(kind).To(Equal("application/json"), "the content type of the answer to %s", did)
				Expect(rpc(did, answer).HasID("1")).To(BeTrue(), "%s: the request's id in %s", did, answer)
				if strings.HasPrefix(did, "initialize") {
					opened(did, s, answer)
				}
			}
		}
	})

	// "A notification is answered 202 without a body."
	It("takes notifications and responses without a word", engine.Clause("mcp.notification"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		for did, body := range map[string]string{
			"notifications/initialized":                  `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			"notifications/initialized with params":      `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
			"notifications/cancelled of nothing":         `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`,
			"notifications/cancelled without params":     `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			"notifications/progress":                     `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
			"a notification that nobody knows":           `{"jsonrpc":"2.0","method":"notifications/no_such","params":{"a":[1]}}`,
			"a notification with the name of a request":  `{"jsonrpc":"2.0","method":"tools/list"}`,
			"a response to a request that nobody made":   `{"jsonrpc":"2.0","id":1,"result":{}}`,
			"an error for a request that nobody made":    `{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"no"}}`,
			"a response with the result null":            `{"jsonrpc":"2.0","id":1,"result":null}`,
			"notifications/roots/list_changed with meta": `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{}}}`,
		} {
			answer := post(ctx, s, m.ID, body)
			if answer.Status != 202 || len(answer.Body) > 0 {
				engine.Fail("posting "+did, []string{"status 202 without a body"}, answer.String())
			}
			works(ctx, s, m.ID, "after "+did)
		}
	})

	batches(l)
	faults(l)
}

func batches(l *lab.Lab) {
	// "A body that is an array, the empty one included, is refused and no member of it is executed."
	It("refuses arrays and does nothing of them", engine.Clause("mcp.batch-refused"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/batch", ""))
		did := "the control: the member alone"
		Expect(valueOf(did, result(did, post(ctx, s, m.ID, evaluate("1", mark(l, "alone"))), "1"))).To(Equal("alone"))
		note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		one, two := evaluate("1", mark(l, "batch-1")), evaluate("2", mark(l, "batch-2"))
		for _, body := range []string{
			"[]", " [ ]\r\n", "[" + one + "]", "\n\t [" + one + "]", "[" + one + "," + two + "]", "[" + note + "]", "[" + note + "," + one + "]",
			"[" + one + "," + note + "]", "[[" + one + "]]", "[" + one + ",7,null,{}]", "[{}," + one + "]", "[" + one + "," + one + "]",
			"[" + hello("1", `"2025-06-18"`) + "]", "[" + hello("1", `"2025-03-26"`) + "," + one + "]",
		} {
			for _, session := range []string{m.ID, ""} {
				answer := post(ctx, s, session, body)
				faulty("posting the array "+short(body), answer, 400, -32600, null)
				Expect(answer.Header).NotTo(HaveKey("Mcp-Session-Id"), "posting the array %s", short(body))
			}
		}
		did = "the control afterwards"
		Expect(valueOf(did, result(did, post(ctx, s, m.ID, evaluate("1", mark(l, "afterwards"))), "1"))).To(Equal("afterwards"))
		for _, tag := range []string{"batch-1", "batch-2"} {
			Expect(marked(l, tag)).To(BeFalse(), "the member %s of an array ran in the page", tag)
		}
	})
}

// get is GET /mcp.
func get(l *lab.Lab) {
	requests := func(s *lab.Sidecar, session string) map[string]lab.Request {
		plain := s.Get("/mcp")
		return map[string]lab.Request{
			"GET":                              plain,
			"GET for a stream":                 plain.Add("Accept", "text/event-stream"),
			"GET for a stream in a session":    plain.Add("Accept", "text/event-stream").Add("Mcp-Session-Id", session),
			"GET for a stream from the middle": plain.Add("Accept", "text/event-stream").Add("Mcp-Session-Id", session).Add("Last-Event-ID", "1"),
			"GET for JSON in a session":        plain.Add("Accept", "application/json").Add("Mcp-Session-Id", session),
			"GET with a version in a session":  plain.Add("Mcp-Session-Id", session).Add("MCP-Protocol-Version", "2025-06-18"),
		}
	}

	// "GET /mcp is answered 405 or 404, and no stream opens."
	It("opens no stream", engine.Clause("mcp.get-refused"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		for did, r := range requests(s, m.ID) {
			answer := do(ctx, s, did, r) // read to its end
			Expect(answer.Status).To(BeElementOf(405, 404), "%s: %s", did, answer)
			Expect(answer.Header.Get("Content-Type")).NotTo(HavePrefix("text/event-stream"), "the content type of the answer to %s", did)
			works(ctx, s, m.ID, "after "+did)
		}
	})

	// "GET /mcp is answered 405 with an Allow header that names POST and DELETE."
	It("says which methods there are", engine.Clause("mcp.get-refused-allow"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		for did, r := range requests(s, m.ID) {
			answer := do(ctx, s, did, r)
			Expect(answer.Status).To(Equal(405), "%s: %s", did, answer)
			var allowed []string
			for method := range strings.SplitSeq(strings.Join(answer.Header.Values("Allow"), ","), ",") {
				allowed = append(allowed, strings.TrimSpace(method))
			}
			Expect(allowed).To(ContainElements("POST", "DELETE"), "Allow in the answer to %s", did)
		}
	})
}
