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

func sessions(l *lab.Lab) {
	// "A message other than initialize is answered 400 when it has no Mcp-Session-Id, and 404 when its id is unknown."
	It("does nothing outside a session", engine.Clause("mcp.session-required"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/outside", ""))
		inside := post(ctx, s, m.ID, evaluate("1", mark(l, "before")))
		Expect(valueOf("the control: the call in a session", result("the control: the call in a session", inside, "1"))).To(Equal("before"))
		messages := map[string]string{
			"a request":                     list("1"),
			"a ping":                        request("1", "ping", "{}"),
			"a request of an unknown kind":  request("1", "no/such", "{}"),
			"a call":                        evaluate("1", mark(l, "outside")),
			"a notification":                `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			"a cancellation":                `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			"a response":                    `{"jsonrpc":"2.0","id":1,"result":{}}`,
			"an initialize in another case": strings.Replace(hello("1", `"2025-06-18"`), "initialize", "Initialize", 1),
		}
		for kind, body := range messages {
			judge := func(did, session string, want int) {
				answer := post(ctx, s, session, body)
				Expect(answer.Status).To(Equal(want), "%s %s: %s", kind, did, answer)
				if message := rpc(kind+" "+did, answer); message.Error == nil {
					engine.Fail(kind+" "+did, []string{"a JSON-RPC error"}, answer.String())
				}
			}
			judge("without a session id", "", 400)
			for _, unknown := range []string{
				"none", "0", "null", strings.Repeat("a", 4000), m.ID + "x", m.ID[:len(m.ID)-1], "x" + m.ID[1:], m.ID + "," + m.ID, "../" + m.ID,
			} {
				if unknown != m.ID {
					judge(fmt.Sprintf("with the unknown session id %.60s", unknown), unknown, 404)
				}
			}
		}
		after := post(ctx, s, m.ID, evaluate("1", mark(l, "after")))
		Expect(valueOf("the control afterwards", result("the control afterwards", after, "1"))).To(Equal("after"))
		Expect(marked(l, "outside")).To(BeFalse(), "a call outside a session ran in the page")
	})

	// "DELETE /mcp with a session's id ends that session with a 2xx answer, and the id is unknown from then on. … With an
	// unknown id, or none, it is answered 404."
	It("ends the session that is named, and no other", engine.Clause("mcp.delete"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		missing := func(did, session string) {
			answer := do(ctx, s, did, ending(s, session))
			Expect(answer.Status).To(Equal(404), "%s: %s", did, answer)
		}
		missing("DELETE without a session id", "")
		missing("DELETE with an unknown session id", "none")
		missing("DELETE with the beginning of a session's id", m.ID[:len(m.ID)-1])
		works(ctx, s, m.ID, "after DELETE of sessions that aren't there")

		answer := do(ctx, s, "DELETE with a session's id", ending(s, m.ID))
		Expect(answer.Status/100).To(Equal(2), "DELETE with a session's id: %s", answer)
		missing("DELETE of a session that has ended", m.ID)
		for _, body := range []string{list("1"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
			answer := post(ctx, s, m.ID, body)
			Expect(answer.Status).To(Equal(404), "posting into a session that has ended: %s", answer)
		}
		works(ctx, s, other.ID, "in another session")
	})

	// "A call that is under way in it is over within 5 seconds."
	It("ends the calls of a session with it", engine.Clause("mcp.delete"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		g := newGate(l)
		visit(ctx, m, serve(l, "/ending", ""))
		visit(ctx, other, l.AppURL("/ending"))
		mine := launch(ctx, s, s.Message(m.ID, evaluate("1", g.function("mine"))))
		theirs := launch(ctx, s, s.Message(other.ID, evaluate("1", g.function("theirs"))))
		g.waits(ctx, "mine")
		g.waits(ctx, "theirs")
		answer := do(ctx, s, "DELETE of a session with a call under way", ending(s, m.ID))
		Expect(answer.Status/100).To(Equal(2), "DELETE of a session with a call under way: %s", answer)
		Eventually(ctx, mine.Landed()).WithTimeout(soon).Should(BeClosed(), "the ended session's call is over")
		g.release("theirs")
		answer = landed(ctx, theirs, "the other session's call", soon)
		Expect(valueOf("the other session's call", result("the other session's call", answer, "1"))).To(Equal("theirs"))
	})

	many(l)
}

func many(l *lab.Lab) {
	// "Eight sessions are open and usable at once. When more are asked for, no session that has a call in flight is lost."
	It("serves eight sessions, and loses no busy one for more", engine.Clause("mcp.many-sessions"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		g := newGate(l)
		var open []string
		for range 8 {
			m := attack.Connect(ctx, s)
			visit(ctx, m, l.AppURL("/"))
			open = append(open, m.ID)
		}
		var calls []*lab.Flight
		for i, session := range open {
			works(ctx, s, session, fmt.Sprintf("in session %d of eight", i+1))
			calls = append(calls, launch(ctx, s, s.Message(session, evaluate("7", g.function(tag(i))))))
		}
		for i := range open {
			g.waits(ctx, tag(i))
		}
		// Six stay busy, the oldest among them, and two come to rest.
		for _, i := range []int{3, 4} {
			g.release(tag(i))
			own(ctx, calls[i], i)
		}
		for i := range 30 {
			did := fmt.Sprintf("asking for session %d", 9+i)
			answer := do(ctx, s, did, s.Message("", hello("0", `"2025-06-18"`)))
			if answer.Status == 200 {
				opened(did, s, answer)
			}
		}
		for i, session := range open {
			if i != 3 && i != 4 {
				g.release(tag(i))
				own(ctx, calls[i], i)
				works(ctx, s, session, fmt.Sprintf("in session %d, which was busy", i+1))
			}
		}
		attack.Alive(ctx, s)
	})
}

// tag is what the call of session number i returns.
func tag(i int) string { return fmt.Sprintf("call-%d", i+1) }

// own wants a call to return its own tag.
func own(ctx SpecContext, call *lab.Flight, i int) {
	GinkgoHelper()
	did := fmt.Sprintf("the call of session %d", i+1)
	answer := landed(ctx, call, did, soon)
	Expect(valueOf(did, result(did, answer, "7"))).To(Equal(tag(i)), did)
}
