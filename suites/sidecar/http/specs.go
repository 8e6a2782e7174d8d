// Package http proves the HTTP surface: few routes, and hostile bytes that harm nobody.
package http

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	Describe("http", func() {
		answers(l)
		limits(l)
		hostile(l)
		smuggling(l)
	})
}

func answers(l *lab.Lab) {
	// "GET /health is answered 200 with the JSON object {"status": "ok", "version": …}."
	It("answers /health with its status and version", engine.Clause("http.health"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, path := range []string{"/health", "/health?x=1"} {
			answer := attack.Accepted(ctx, s, "asking for the health", s.Get(path))
			var body map[string]any
			Expect(json.Unmarshal(answer.Body, &body)).To(Succeed(), "reading the answer to GET %s: %s", path, answer.Body)
			Expect(body).To(HaveKeyWithValue("status", "ok"), "GET %s", path)
			Expect(body).To(HaveKeyWithValue("version", s.Version), "GET %s, beside the ready line's version", path)
			Expect(answer.Header.Get("Content-Type")).To(HavePrefix("application/json"), "the type of the answer to GET %s", path)
		}
	})

	// "An unknown path is answered 404. A known path with a method that it doesn't have is answered 404, or 405 with an Allow
	// header that names the methods it has."
	It("answers 404 for what it doesn't have", engine.Clause("http.not-found"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		var unknown []attack.Attack
		for _, path := range []string{"/", "/nowhere", "/health/", "/health/x", "/Health", "/mcp/", "/mcp/x", "/healthx", "/.", "/../health2"} {
			unknown = append(unknown, attack.Attack{Did: "GET " + path, Request: s.Get(path), Want: []int{404}})
		}
		attack.Refused(ctx, s, s.Get("/health"), unknown)
		has := map[string]string{
			"/health": "GET", "/mcp": "POST", "/storage-state": "GET", "/tokens": "POST", "/tokens/x": "DELETE",
		}
		for path, methods := range map[string][]string{
			"/health":        {"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"},
			"/mcp":           {"PUT", "PATCH", "OPTIONS", "TRACE"},
			"/storage-state": {"POST", "PUT", "DELETE", "OPTIONS"},
			"/tokens":        {"GET", "PUT", "DELETE", "OPTIONS"},
			"/tokens/x":      {"GET", "POST", "PUT", "OPTIONS"},
		} {
			for _, method := range methods {
				answer, err := s.Do(ctx, s.Get(path).As(method))
				Expect(err).NotTo(HaveOccurred(), "%s %s", method, path)
				Expect(answer.Status).To(BeElementOf(404, 405), "%s %s: %s", method, path, answer)
				if answer.Status == 405 {
					allowed := methodsIn(answer.Header.Values("Allow"))
					Expect(allowed).To(ContainElement(has[path]), "Allow in the answer to %s %s", method, path)
					Expect(allowed).NotTo(ContainElement(method), "Allow in the answer to %s %s", method, path)
				}
			}
		}
		attack.Alive(ctx, s)
	})

	// "Every error answer is the JSON object {"error": text}, or a JSON-RPC error on /mcp, with content-type:
	// application/json and cache-control: no-store, and repeats no token that was sent."
	It("answers every error in the same shape", engine.Clause("http.error-shape"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		wrong := "wrong-" + strings.Repeat("z", 40)
		for did, r := range map[string]lab.Request{
			"an unknown path":                        s.Get("/nowhere"),
			"a wrong method":                         s.Get("/health").As("DELETE"),
			"a wrong method of /mcp":                 s.Get("/mcp").As("PUT"),
			"no token":                               s.Get("/health").Without("Authorization"),
			"a wrong token":                          s.Get("/health").Set("Authorization", "Bearer "+wrong),
			"a token in the query":                   s.Get("/nowhere?token=" + wrong),
			"a bad Host":                             s.Get("/health").Set("Host", "evil.test"),
			"an Origin":                              s.Get("/health").Add("Origin", "http://evil.test"),
			"/mcp with a body that is not JSON":      s.Post("/mcp", []byte("{nonsense")),
			"/mcp with an unknown session":           s.Post("/mcp", []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)).Add("Mcp-Session-Id", "none"),
			"/mcp, ending an unknown session":        s.Get("/mcp").As("DELETE").Add("Mcp-Session-Id", "none"),
			"a body over the limit, with its length": s.Post("/mcp", []byte(strings.Repeat(" ", overLimit))),
		} {
			answer, err := s.Do(ctx, r)
			if attack.HungUp(err) && len(r.Body) == overLimit {
				continue // http.limit-readable judges that
			}
			Expect(err).NotTo(HaveOccurred(), "asking with %s", did)
			Expect(answer.Status).To(BeNumerically(">=", 400), "asking with %s", did)
			Expect(answer.Header.Get("Content-Type")).To(HavePrefix("application/json"), "the type of the answer to %s: %s", did, answer)
			Expect(answer.Header.Get("Cache-Control")).To(Equal("no-store"), "Cache-Control in the answer to %s", did)
			var body map[string]any
			Expect(json.Unmarshal(answer.Body, &body)).To(Succeed(), "reading the answer to %s: %s", did, answer)
			Expect(body["error"]).NotTo(BeNil(), "the error in the answer to %s: %s", did, answer)
			if r.Target != "/mcp" {
				Expect(body["error"]).To(BeAssignableToTypeOf(""), "the error in the answer to %s: %s", did, answer)
			}
			for _, secret := range []string{wrong, s.Token()} {
				Expect(string(answer.Body)).NotTo(ContainSubstring(secret), "a token in the answer to %s", did)
				Expect(fmt.Sprint(answer.Header)).NotTo(ContainSubstring(secret), "a token in the headers of the answer to %s", did)
			}
		}
		attack.Alive(ctx, s)
	})
}

// methodsIn reads the values of Allow headers.
func methodsIn(values []string) []string {
	var methods []string
	for m := range strings.SplitSeq(strings.Join(values, ","), ",") {
		methods = append(methods, strings.TrimSpace(m))
	}
	return methods
}
