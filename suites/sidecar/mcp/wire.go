package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// soon bounds an answer that depends on nothing slow: the contract's five seconds.
const soon = 5 * time.Second

// null is the id of an answer to a message that has none which could be read.
const null = "null"

// request is a JSON-RPC request, its id and params written as they stand.
func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// call is a request that calls a tool.
func call(id, tool, arguments string) string {
	return request(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// evaluate is a request that runs a function in the page.
func evaluate(id, function string) string {
	return call(id, "browser_evaluate", fmt.Sprintf(`{"function":%s}`, quoted(function)))
}

// quoted is a text as a JSON string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	engine.Harness(err)
	return string(b)
}

// list is a request that any session can make and that changes nothing.
func list(id string) string { return request(id, "tools/list", "{}") }

// short is the beginning of a body, for a report.
func short(body string) string {
	const most = 160
	if len(body) > most {
		return fmt.Sprintf("%s… (%d bytes)", body[:most], len(body))
	}
	return body
}

// post sends a body as it stands and wants an answer soon.
func post(ctx context.Context, s *lab.Sidecar, session, body string) *lab.Response {
	GinkgoHelper()
	return do(ctx, s, "posting "+short(body), s.Message(session, body))
}

// do sends a request and wants an answer soon.
func do(ctx context.Context, s *lab.Sidecar, did string, r lab.Request) *lab.Response {
	GinkgoHelper()
	return landed(ctx, launch(ctx, s, r), did, soon)
}

// launch sends a request and doesn't wait for its answer.
func launch(ctx context.Context, s *lab.Sidecar, r lab.Request) *lab.Flight {
	GinkgoHelper()
	flight, err := s.Launch(ctx, r)
	Expect(err).NotTo(HaveOccurred(), "sending %s %s", r.Method, r.Target)
	return flight
}

// landed wants the answer within a time.
func landed(ctx context.Context, f *lab.Flight, did string, within time.Duration) *lab.Response {
	GinkgoHelper()
	answer, err := f.Answer(ctx, within)
	Expect(err).NotTo(HaveOccurred(), did)
	return answer
}

// rpc reads an answer as JSON-RPC.
func rpc(did string, answer *lab.Response) *lab.RPC {
	GinkgoHelper()
	message, err := answer.RPC()
	Expect(err).NotTo(HaveOccurred(), did)
	return message
}

// result wants an answer with status 200, the request's id and a result.
func result(did string, answer *lab.Response, id string) *lab.RPC {
	GinkgoHelper()
	Expect(answer.Status).To(Equal(200), "%s: %s", did, answer)
	message := rpc(did, answer)
	if message.Result == nil || !message.HasID(id) {
		engine.Fail(did, []string{"a result with the id " + short(id)}, answer.String())
	}
	return message
}

// faulty wants an answer with a status, a JSON-RPC error of that code, and an id.
func faulty(did string, answer *lab.Response, status, code int, id string) {
	GinkgoHelper()
	message := rpc(did, answer)
	if answer.Status != status || message.Code != code || !message.HasID(id) {
		engine.Fail(did, []string{fmt.Sprintf("status %d and a JSON-RPC error %d with the id %s", status, code, short(id))}, answer.String())
	}
}

// works is the control beside a refusal: a good request of the session is answered.
func works(ctx context.Context, s *lab.Sidecar, session, when string) {
	GinkgoHelper()
	result("tools/list "+when, post(ctx, s, session, list("1")), "1")
}

// valueOf is what a call of browser_evaluate returned from the page: a text.
func valueOf(did string, message *lab.RPC) string {
	GinkgoHelper()
	tool, err := message.Tool()
	Expect(err).NotTo(HaveOccurred(), did)
	var value string
	Expect(tool.Value(&value)).To(Succeed(), did)
	return value
}

// initialize opens a session by a message with the given version, written as it stands, and returns its id. It ends with
// the spec.
func initialize(ctx context.Context, s *lab.Sidecar, id, version string) (session string, message *lab.RPC) {
	GinkgoHelper()
	did := "initialize with the version " + version
	answer := do(ctx, s, did, s.Message("", hello(id, version)))
	return opened(did, s, answer), result(did, answer, id)
}

// hello is an initialize message.
func hello(id, version string) string {
	return request(id, "initialize", fmt.Sprintf(
		`{"protocolVersion":%s,"capabilities":{},"clientInfo":{"name":"conformance","version":"1"}}`, version))
}

// opened is the session that an answer to initialize opened. It ends with the spec.
func opened(did string, s *lab.Sidecar, answer *lab.Response) string {
	GinkgoHelper()
	ids := answer.Header.Values("Mcp-Session-Id")
	if len(ids) != 1 || ids[0] == "" {
		engine.Fail(did, []string{"one header Mcp-Session-Id"}, fmt.Sprintf("%s with %q", answer, ids))
	}
	DeferCleanup(func(ctx SpecContext) {
		within, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		// The spec may have ended the session or the sidecar by itself.
		_, _ = s.Do(within, ending(s, ids[0]))
	})
	return ids[0]
}

// ending is the request that ends a session, or one without a session where the id is empty.
func ending(s *lab.Sidecar, session string) lab.Request {
	r := s.Get("/mcp").As("DELETE")
	if session != "" {
		r = r.Add("Mcp-Session-Id", session)
	}
	return r
}
