package mcp

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func concurrent(l *lab.Lab) {
	// "Calls of two sessions run side by side: a slow call of one delays no call of the other, and each gets its own answer."
	It("delays no call by another session's", engine.Clause("mcp.concurrent"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		slow, quick := attack.Connect(ctx, s), attack.Connect(ctx, s)
		g := newGate(l)
		visit(ctx, slow, serve(l, "/side", ""))
		visit(ctx, quick, l.AppURL("/side"))
		held := launch(ctx, s, s.Message(slow.ID, evaluate(`"held"`, g.function("held"))))
		g.waits(ctx, "held")
		// Some more, which a sidecar may run behind the first.
		var more []*lab.Flight
		for i := range 10 {
			more = append(more, launch(ctx, s, s.Message(slow.ID, evaluate(fmt.Sprint(i), g.function(fmt.Sprint("more-", i))))))
		}
		works(ctx, s, quick.ID, "beside a slow call")
		for i := range 3 {
			own := fmt.Sprint("quick-", i)
			did := "a call beside another session's slow one"
			Expect(valueOf(did, result(did, post(ctx, s, quick.ID, evaluate("1", mark(l, own))), "1"))).To(Equal(own), did)
		}
		did := "a snapshot beside another session's slow call"
		tool, err := result(did, post(ctx, s, quick.ID, call("2", "browser_snapshot", "{}")), "2").Tool()
		Expect(err).NotTo(HaveOccurred(), did)
		Expect(tool.IsError).To(BeFalse(), "%s: %s", did, tool.Text)
		session, _ := initialize(ctx, s, "0", `"2025-06-18"`)
		works(ctx, s, session, "in a session that was opened beside a slow call")

		g.release("held")
		did = "the slow call"
		Expect(valueOf(did, result(did, landed(ctx, held, did, soon), `"held"`))).To(Equal("held"), did)
		for i, flight := range more {
			g.release(fmt.Sprint("more-", i))
			did := fmt.Sprintf("slow call %d", i)
			Expect(valueOf(did, result(did, landed(ctx, flight, did, soon), fmt.Sprint(i)))).To(Equal(fmt.Sprint("more-", i)), did)
		}
	})

	It("delays no call by a navigation that takes its time", engine.Clause("mcp.concurrent"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		slow, quick := attack.Connect(ctx, s), attack.Connect(ctx, s)
		visit(ctx, quick, serve(l, "/quick", ""))
		tab(ctx, slow, l.AppURL("/quick"))
		held := newHeld(l, "/held")
		navigation := launch(ctx, s, s.Message(slow.ID, call("1", "browser_navigate", fmt.Sprintf(`{"url":%q}`, l.AppURL("/held")))))
		Eventually(ctx, held.asked).WithTimeout(soon).Should(BeClosed(), "the slow navigation is under way")
		works(ctx, s, quick.ID, "beside a slow navigation")
		for i := range 2 {
			own := fmt.Sprint("quick-", i)
			did := "a call beside another session's navigation"
			Expect(valueOf(did, result(did, post(ctx, s, quick.ID, evaluate("1", mark(l, own))), "1"))).To(Equal(own), did)
		}
		did := "a snapshot beside another session's navigation"
		result(did, post(ctx, s, quick.ID, call("2", "browser_snapshot", "{}")), "2")
		Expect(navigation.Landed()).NotTo(BeClosed(), "the control: the navigation is still under way")
		held.release()
		result("the slow navigation", landed(ctx, navigation, "the slow navigation", 2*soon), "1")
		Expect(where(ctx, slow)).To(Equal("/held"), "where the session is after its navigation")
	})
}

// typist is a page whose field tells the app of each key and takes its time for it, so that typing lasts: 200 keys need ten
// seconds.
const typist = `<input aria-label="Field"><script>
  document.querySelector("input").addEventListener("keydown", () => {
    fetch("/key").then(answer => answer.text());
    for (const end = performance.now() + 50; performance.now() < end;);
  });
</script>`

const allKeys = 200

// endsWithin bounds the end of a call that was cancelled.
const endsWithin = 2 * time.Second

func cancelled(l *lab.Lab) {
	// "notifications/cancelled, or the client's closing of the connection, ends a call that is under way within 2 seconds.
	// Nothing of that call is done afterwards, and the session's next call is not held up by it."
	DescribeTable("ends a call that was cancelled", engine.Clause("mcp.cancelled"),
		func(ctx SpecContext, id string, cancel func(context.Context, *lab.Sidecar, *lab.Session, *lab.Flight)) {
			s := attack.Sidecar(ctx, l)
			m := attack.Connect(ctx, s)
			serve(l, "/key", "")
			visit(ctx, m, serve(l, "/typist", typist))
			keys := func() int { return len(l.Sites.RequestsTo(l.AppAddr().String(), "/key")) }

			typing := launch(ctx, s, s.Message(m.ID, call(id, "browser_type",
				fmt.Sprintf(`{"element":"Field","target":"input","text":"%0*d","slowly":true}`, allKeys, 0))))
			Eventually(ctx, keys).WithTimeout(soon).WithPolling(20*time.Millisecond).Should(BeNumerically(">", 2), "keys that were typed")
			cancel(ctx, s, m, typing)
			at := time.Now()
			Eventually(ctx, typing.Landed()).WithTimeout(endsWithin).Should(BeClosed(), "the call is over")
			use(ctx, m, "browser_evaluate", map[string]any{"function": `() => "next"`})
			Expect(time.Since(at)).To(BeNumerically("<", soon), "the time until the session's next call was answered")
			silence(ctx, at, endsWithin)
			typed := keys()
			Expect(typed).To(BeNumerically("<", allKeys), "keys that were typed until two seconds after the end")
			Consistently(ctx, keys).WithTimeout(time.Second).WithPolling(100*time.Millisecond).Should(Equal(typed), "keys that were typed afterwards")
		},
		Entry("by a notification", `"seven"`, notify(`"seven"`)),
		Entry("by a client that leaves", "7", func(_ context.Context, _ *lab.Sidecar, _ *lab.Session, typing *lab.Flight) {
			Expect(typing.Drop()).To(Succeed(), "closing the call's connection")
		}),
	)

	It("ends no other call with it", engine.Clause("mcp.cancelled"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		g := newGate(l)
		visit(ctx, m, serve(l, "/others", ""))
		visit(ctx, other, l.AppURL("/others"))
		mine := launch(ctx, s, s.Message(m.ID, evaluate("7", g.function("mine"))))
		theirs := launch(ctx, s, s.Message(other.ID, evaluate("7", g.function("theirs"))))
		g.waits(ctx, "mine")
		g.waits(ctx, "theirs")
		for _, id := range []string{`"7"`, `8`, `null`, `[7]`} {
			notify(id)(ctx, s, m, nil)
		}
		notify(`7`)(ctx, s, other, nil)
		Eventually(ctx, theirs.Landed()).WithTimeout(endsWithin).Should(BeClosed(), "the cancelled call is over")
		g.release("mine")
		did := "the call that nobody cancelled"
		Expect(valueOf(did, result(did, landed(ctx, mine, did, soon), "7"))).To(Equal("mine"), did)
	})
}

// notify says that the request with an id was cancelled.
func notify(id string) func(context.Context, *lab.Sidecar, *lab.Session, *lab.Flight) {
	return func(ctx context.Context, s *lab.Sidecar, m *lab.Session, _ *lab.Flight) {
		GinkgoHelper()
		did := "notifications/cancelled of " + id
		answer := post(ctx, s, m.ID, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`,"reason":"a test"}}`)
		Expect(answer.Status).To(Equal(202), "%s: %s", did, answer)
	}
}
