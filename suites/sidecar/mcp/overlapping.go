package mcp

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// pair are two calls that overlap: the second is sent while the first runs, and would be done before it.
type pair struct {
	sessions [2]*lab.Session
	ids      [2]string
	name     string
}

// How long the calls of a pair take in the page. A sidecar may run them one after the other.
const (
	slowCall  = time.Second
	quickCall = 300 * time.Millisecond
)

// overlap makes the two calls and returns their answers, the first's and the second's.
func (p pair) overlap(ctx SpecContext, l *lab.Lab, s *lab.Sidecar) [2]*lab.Response {
	GinkgoHelper()
	slow, quick := p.tag(0), p.tag(1)
	first := launch(ctx, s, s.Message(p.sessions[0].ID, evaluate(p.ids[0], markAnd(l, slow, slowCall))))
	runs(ctx, l, slow)
	second := launch(ctx, s, s.Message(p.sessions[1].ID, evaluate(p.ids[1], markAnd(l, quick, quickCall))))
	return [2]*lab.Response{
		landed(ctx, first, p.name+": the first call", slowCall+soon),
		landed(ctx, second, p.name+": the second call", slowCall+quickCall+soon),
	}
}

func (p pair) tag(i int) string { return fmt.Sprintf("%s %d", p.name, i+1) }

// answered wants the i-th answer to be the call's own.
func (p pair) answered(i int, answer *lab.Response) {
	GinkgoHelper()
	Expect(valueOf(p.tag(i), result(p.tag(i), answer, p.ids[i]))).To(Equal(p.tag(i)), "what call %d returned from the page", i+1)
}

func overlapping(l *lab.Lab) {
	// "When a request has the id of one that is in flight in the same session, it is refused or each gets its own answer.
	// Answers are never crossed, and neither call is left without one."
	It("crosses no answers of calls with one id", engine.Clause("mcp.duplicate-id"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/duplicate", ""))
		for i, ids := range [][2]string{{`1`, `1`}, {`"a"`, `"a"`}, {`"\u0062"`, `"b"`}} {
			p := pair{[2]*lab.Session{m, m}, ids, fmt.Sprintf("pair %d with one id", i)}
			answers := p.overlap(ctx, l, s)
			p.answered(0, answers[0])
			if second := rpc(p.tag(1), answers[1]); second.Error != nil {
				continue // refused
			}
			p.answered(1, answers[1])
		}
		// Once both are over, the id is free.
		did := "a call with the same id afterwards"
		Expect(valueOf(did, result(did, post(ctx, s, m.ID, evaluate("1", mark(l, "afterwards"))), "1"))).To(Equal("afterwards"), did)
	})

	// A ping, too, has an id, and so may have a slow call's.
	It("crosses no answers of different requests with one id", engine.Clause("mcp.duplicate-id"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/different", ""))
		slow := launch(ctx, s, s.Message(m.ID, evaluate("1", markAnd(l, "slow", slowCall))))
		runs(ctx, l, "slow")
		listing := launch(ctx, s, s.Message(m.ID, list("1")))
		answer := landed(ctx, listing, "tools/list with the id of a call in flight", slowCall+soon)
		if message := rpc("tools/list with the id of a call in flight", answer); message.Error == nil {
			var tools map[string]any
			Expect(json.Unmarshal(message.Result, &tools)).To(Succeed(), "reading the result of tools/list")
			Expect(tools).To(HaveKey("tools"), "the result of tools/list with the id of a call in flight")
		}
		did := "the call in flight"
		answer = landed(ctx, slow, did, slowCall+soon)
		Expect(valueOf(did, result(did, answer, "1"))).To(Equal("slow"), did)
	})

	It("knows ids of different sessions apart", engine.Clause("mcp.duplicate-id"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m, other := attack.Connect(ctx, s), attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/sessions", ""))
		visit(ctx, other, l.AppURL("/sessions"))
		p := pair{[2]*lab.Session{m, other}, [2]string{`1`, `1`}, "one id in two sessions"}
		for i, answer := range p.overlap(ctx, l, s) {
			p.answered(i, answer)
		}
	})

	// "Requests with the ids 1 and "1" in flight at once are two calls, and each gets its own answer."
	It("takes 1 and \"1\" for two ids", engine.Clause("mcp.id-types"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		m := attack.Connect(ctx, s)
		visit(ctx, m, serve(l, "/types", ""))
		for i, ids := range [][2]string{{`1`, `"1"`}, {`"77"`, `77`}, {`""`, `0`}} {
			p := pair{[2]*lab.Session{m, m}, ids, fmt.Sprintf("pair %d of types", i)}
			for k, answer := range p.overlap(ctx, l, s) {
				p.answered(k, answer)
			}
		}
	})
}
