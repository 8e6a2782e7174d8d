package dns

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	miekg "github.com/miekg/dns"
)

func TestEachTypeOfANameRunsTheScriptByItself(t *testing.T) {
	s := start(t)
	set(t, s, "Rebind.test",
		Answer(addr("93.184.216.34"), addr("2606:2800::1")),
		Answer(addr("10.0.0.5"), addr("fd66::5")))

	for _, want := range []string{"93.184.216.34", "10.0.0.5", "10.0.0.5"} {
		equal(t, "A", addrs(ask(t, s, UDP, "rebind.TEST.", miekg.TypeA, 0)), []string{want})
	}
	for _, want := range []string{"2606:2800::1", "fd66::5", "fd66::5"} {
		equal(t, "AAAA", addrs(ask(t, s, TCP, "rebind.test", miekg.TypeAAAA, 0)), []string{want})
	}
	for i, q := range s.QueriesFor("REBIND.test.") {
		if want := i%3 + 1; q.Nth != want {
			t.Errorf("query %d: is the %d. lookup of its type, want %d", i, q.Nth, want)
		}
	}
}

func TestChains(t *testing.T) {
	s := start(t)
	set(t, s, "a.test", CNAME("b.test").TTL(7))
	set(t, s, "b.test", CNAME("c.test"))
	set(t, s, "c.test", Answer(addr("93.184.216.34")), Answer(addr("10.0.0.5")))
	set(t, s, "inline.test", CNAME("nowhere.test", addr("10.0.0.6")))
	set(t, s, "dangling.test", CNAME("nowhere.test"))
	set(t, s, "loop.test", CNAME("pool.test"))
	set(t, s, "pool.test", CNAME("loop.test"))

	m := ask(t, s, UDP, "a.test", miekg.TypeA, 0)
	if len(m.Answer) != 3 || m.Answer[0].Header().Ttl != 7 || m.Answer[2].Header().Name != "c.test." {
		t.Errorf("the chain: got %v, want two CNAMEs and the address of c.test", m.Answer)
	}
	equal(t, "the first lookup", addrs(m), []string{"93.184.216.34"})
	equal(t, "the target's script goes on", addrs(ask(t, s, UDP, "a.test", miekg.TypeA, 0)), []string{"10.0.0.5"})
	equal(t, "addresses given with the target", addrs(ask(t, s, UDP, "inline.test", miekg.TypeA, 0)), []string{"10.0.0.6"})

	if m := ask(t, s, UDP, "dangling.test", miekg.TypeA, 0); m.Rcode != miekg.RcodeNameError || len(m.Answer) != 1 {
		t.Errorf("a dangling chain: got %v, want NXDOMAIN with the CNAME", m)
	}
	if m := ask(t, s, UDP, "loop.test", miekg.TypeA, 0); m.Rcode != miekg.RcodeSuccess || len(m.Answer) != 2 {
		t.Errorf("a loop: got %v, want its two CNAMEs", m)
	}
	if m := ask(t, s, UDP, "a.test", miekg.TypeCNAME, 0); len(m.Answer) != 1 {
		t.Errorf("asked for the CNAME itself: got %v, want one record", m.Answer)
	}
}

func TestAChainWithoutEndIsCut(t *testing.T) {
	s := start(t)
	var made atomic.Int64
	err := s.SetFunc("*.endless.test", func(Query) Step { return CNAME(fmt.Sprintf("n%d.endless.test", made.Add(1))) })
	if err != nil {
		t.Fatal(err)
	}
	if m := ask(t, s, TCP, "n0.endless.test", miekg.TypeA, 0); len(m.Answer) != maxChain {
		t.Errorf("got %d records, want %d", len(m.Answer), maxChain)
	}
}

func TestWildcards(t *testing.T) {
	s := start(t)
	set(t, s, "*.zone.test", Answer(addr("93.184.216.34")), Answer(addr("10.0.0.5")))
	set(t, s, "*.deep.zone.test", Answer(addr("10.0.0.6")))
	set(t, s, "own.zone.test", Answer(addr("10.0.0.7")), Answer(addr("10.0.0.11")))

	for _, name := range []string{"one.zone.test", "two.zone.test", "a.b.zone.test"} {
		equal(t, name+", first", addrs(ask(t, s, UDP, name, miekg.TypeA, 0)), []string{"93.184.216.34"})
		equal(t, name+", then", addrs(ask(t, s, UDP, name, miekg.TypeA, 0)), []string{"10.0.0.5"})
	}
	equal(t, "the longest zone", addrs(ask(t, s, UDP, "x.deep.zone.test", miekg.TypeA, 0)), []string{"10.0.0.6"})
	equal(t, "a script of its own", addrs(ask(t, s, UDP, "own.zone.test", miekg.TypeA, 0)), []string{"10.0.0.7"})
	if m := ask(t, s, UDP, "zone.test", miekg.TypeA, 0); m.Rcode != miekg.RcodeNameError {
		t.Errorf("the zone itself: got %s, want NXDOMAIN", Rcode(m.Rcode))
	}

	set(t, s, "*.zone.test", Answer(addr("10.0.0.8")), Answer(addr("10.0.0.9")))
	equal(t, "a script of its own goes on", addrs(ask(t, s, UDP, "own.zone.test", miekg.TypeA, 0)), []string{"10.0.0.11"})
	equal(t, "set again", addrs(ask(t, s, UDP, "one.zone.test", miekg.TypeA, 0)), []string{"10.0.0.8"})
	set(t, s, "*", Answer(addr("10.0.0.10")))
	equal(t, "the root's wildcard", addrs(ask(t, s, UDP, "any.where", miekg.TypeA, 0)), []string{"10.0.0.10"})
}

func TestFunctionsDecideByEvents(t *testing.T) {
	s := start(t)
	switched, asked := make(chan struct{}), make(chan struct{})
	if err := s.SetFunc("event.test", func(q Query) Step {
		if q.Nth == 1 {
			close(asked)
			<-switched
			return Answer(addr("10.0.0.5"))
		}
		return CNAME("bad..target")
	}); err != nil {
		t.Fatal(err)
	}
	set(t, s, "other.test", Answer(addr("10.0.0.6")))

	var first sync.WaitGroup
	first.Go(func() {
		equal(t, "decided by the event", addrs(ask(t, s, UDP, "event.test", miekg.TypeA, 0)), []string{"10.0.0.5"})
	})
	<-asked
	if log := s.QueriesFor("event.test"); len(log) != 1 || log[0].Answer != "" {
		t.Errorf("while the function decides: got %+v, want the query without an answer", log)
	}
	equal(t, "other names go on", addrs(ask(t, s, UDP, "other.test", miekg.TypeA, 0)), []string{"10.0.0.6"})
	close(switched)
	first.Wait()
	if m := ask(t, s, UDP, "event.test", miekg.TypeA, 0); m.Rcode != miekg.RcodeServerFailure {
		t.Errorf("a step that can't be sent: got %s, want SERVFAIL", Rcode(m.Rcode))
	}
}

func TestManyLookupsAtOnceConsumeEachStepOnce(t *testing.T) {
	s := start(t)
	set(t, s, "race.test", Answer(addr("93.184.216.34")), Answer(addr("10.0.0.5")))
	var clients sync.WaitGroup
	answers := make(chan string, 50)
	for range cap(answers) {
		clients.Go(func() {
			m := new(miekg.Msg).SetQuestion("race.test.", miekg.TypeA)
			client := &miekg.Client{Timeout: 5 * time.Second}
			if reply, _, err := client.ExchangeContext(t.Context(), m, s.Addr().String()); err == nil {
				answers <- addrs(reply)[0]
			}
		})
	}
	clients.Wait()
	close(answers)
	got := map[string]int{}
	for answer := range answers {
		got[answer]++
	}
	if got["93.184.216.34"] != 1 || got["10.0.0.5"] != 49 {
		t.Errorf("got %v, want the first step once and the second 49 times", got)
	}
}
