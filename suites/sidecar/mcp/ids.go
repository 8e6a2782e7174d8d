package mcp

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// comeBack wants each id in the answers to a request, to a call and to an unknown method.
func comeBack(ctx SpecContext, l *lab.Lab, all []string) {
	GinkgoHelper()
	s := attack.Sidecar(ctx, l)
	m := attack.Connect(ctx, s)
	visit(ctx, m, serve(l, "/ids", ""))
	for _, id := range all {
		result("tools/list with the id "+short(id), post(ctx, s, m.ID, list(id)), id)
		faulty("an unknown method with the id "+short(id), post(ctx, s, m.ID, request(id, "no/such", "{}")), 200, -32601, id)
		did := "a call of an unknown tool with the id " + short(id)
		tool, err := result(did, post(ctx, s, m.ID, call(id, "browser_no_such", "{}")), id).Tool()
		Expect(err).NotTo(HaveOccurred(), did)
		Expect(tool.IsError).To(BeTrue(), "%s is an error of the tool", did)
	}
	did := "a call with the id " + short(all[0])
	Expect(valueOf(did, result(did, post(ctx, s, m.ID, evaluate(all[0], `() => "done"`)), all[0]))).To(Equal("done"), did)
}

func ids(l *lab.Lab) {
	// "The id of a request comes back in its answer with the same type and value, for strings and for integers: 0, negative
	// ones, "01", the empty string."
	It("brings strings and integers back as they are", engine.Clause("mcp.ids"), func(ctx SpecContext) {
		comeBack(ctx, l, []string{
			`"01"`, `""`, `0`, `-1`, `1`, `42`, `-2147483649`, `4294967296`, `9007199254740991`, `-9007199254740991`,
			`"0"`, `"1"`, `"-1"`, `"1.0"`, `"1e2"`, `" 1 "`, `"null"`, `"true"`, `"[]"`, `"{}"`, `"9007199254740993"`, `"\u0041"`, `"\/<&>\"\\"`,
			`"ünï ☃ 𝄞"`, `"\ud834\udd1e"`, `"\n\t\u0000\u001f\u007f"`, "\"\u2028\u2029\u200b\"", `"` + strings.Repeat("long", 1000) + `"`,
			`"__proto__"`, `"constructor"`, `"3f2504e0-4f89-11d3-9a0c-0305e82c3301"`,
		})
	})

	It("brings the id of initialize back, too", engine.Clause("mcp.ids"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, id := range []string{`"01"`, `""`, `0`, `-1`} {
			initialize(ctx, s, id, `"2025-06-18"`)
		}
	})

	// "Integer ids beyond 2^53 come back digit for digit."
	It("brings integers beyond 2^53 back digit for digit", engine.Clause("mcp.large-ids"), func(ctx SpecContext) {
		comeBack(ctx, l, []string{
			`9007199254740993`, `-9007199254740993`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`,
			`18446744073709551615`, `18446744073709551616`, `10000000000000000000000`, `123456789012345678901234567890`,
		})
	})

	// "A request whose id is a fraction, a boolean, an object or an array is answered with an error within 5 seconds."
	It("answers odd ids with an error", engine.Clause("mcp.odd-ids"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/odd", ""))
		bodies := func(id string) []string {
			return []string{list(id), evaluate(id, `() => "done"`), request(id, "no/such", "{}")}
		}
		for _, id := range []string{`1.5`, `-0.5`, `1e-2`, `true`, `false`, `{}`, `{"a":1}`, `{"id":1}`, `[]`, `[1]`, `["a"]`} {
			for _, body := range append(bodies(id), hello(id, `"2025-06-18"`)) {
				did := fmt.Sprintf("a request with the id %s: %s", id, short(body))
				answer := post(ctx, s, m.ID, body)
				if message := rpc(did, answer); message.Error == nil {
					engine.Fail(did, []string{"a JSON-RPC error"}, answer.String())
				}
			}
			works(ctx, s, m.ID, "after requests with the id "+id)
		}
		// Whole numbers in another form, and null, which makes a notification for some: any answer will do.
		for _, id := range []string{`1.0`, `1e2`, `1E2`, `-0`, `1e400`, `null`} {
			for _, body := range bodies(id) {
				post(ctx, s, m.ID, body)
			}
			works(ctx, s, m.ID, "after requests with the id "+id)
		}
	})
}
