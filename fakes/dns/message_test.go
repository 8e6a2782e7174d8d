package dns

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	miekg "github.com/miekg/dns"
)

func TestCodesAndEmptyAnswers(t *testing.T) {
	s := start(t)
	set(t, s, "refused.test", Fail(Refused))
	set(t, s, "gone.test", Fail(NXDomain))
	set(t, s, "empty.test", Empty())
	set(t, s, "only4.test", Answer(addr("10.0.0.5")))
	for _, c := range []struct {
		name  string
		qtype uint16
		want  int
	}{
		{"refused.test", miekg.TypeA, miekg.RcodeRefused},
		{"gone.test", miekg.TypeA, miekg.RcodeNameError},
		{"unknown.test", miekg.TypeA, miekg.RcodeNameError},
		{"empty.test", miekg.TypeA, miekg.RcodeSuccess},
		{"only4.test", miekg.TypeAAAA, miekg.RcodeSuccess},
		{"only4.test", miekg.TypeHTTPS, miekg.RcodeSuccess},
	} {
		m := ask(t, s, UDP, c.name, c.qtype, 0)
		if m.Rcode != c.want || len(m.Answer) != 0 {
			t.Errorf("%s: got %s with %d records, want %s with none",
				c.name, Rcode(m.Rcode), len(m.Answer), Rcode(c.want))
		}
		if !m.RecursionAvailable {
			t.Errorf("%s: reads as a lame referral", c.name)
		}
	}
}

func TestTruncationEndsTheLookupOverTCP(t *testing.T) {
	s := start(t)
	many := make([]netip.Addr, 0, 100)
	for i := range 100 {
		many = append(many, netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}))
	}
	set(t, s, "cut.test", Answer(addr("93.184.216.34")).Truncated(), Answer(addr("10.0.0.5")))
	set(t, s, "many.test", Answer(many...), Answer(addr("10.0.0.5")))

	for _, name := range []string{"cut.test", "many.test"} {
		if m := ask(t, s, UDP, name, miekg.TypeA, 0); !m.Truncated || len(m.Answer) > 32 {
			t.Errorf("%s over UDP: TC is %t with %d records, want it cut to 512 bytes", name, m.Truncated, len(m.Answer))
		}
		if m := ask(t, s, TCP, name, miekg.TypeA, 0); m.Truncated || len(addrs(m)) == 0 || addrs(m)[0] == "10.0.0.5" {
			t.Errorf("%s over TCP: got %v, want the first step in full", name, m.Answer)
		}
		equal(t, name+", the next lookup", addrs(ask(t, s, UDP, name, miekg.TypeA, 0)), []string{"10.0.0.5"})
	}
	set(t, s, "many.test", Answer(many...))
	if m := ask(t, s, UDP, "many.test", miekg.TypeA, 4096); m.Truncated || len(m.Answer) != 100 {
		t.Errorf("with room for 4096 bytes: TC is %t with %d records, want all 100", m.Truncated, len(m.Answer))
	}
}

func TestHugeAnswers(t *testing.T) {
	s := start(t)
	set(t, s, "huge.test", Answer(addr("10.0.0.5")).Pad(60_000))
	set(t, s, "rude.test", Answer(addr("10.0.0.5")).Pad(20_000).Oversized())
	if m := ask(t, s, TCP, "huge.test", miekg.TypeA, 0); m.Len() < 50_000 || addrs(m)[0] != "10.0.0.5" {
		t.Errorf("over TCP: got %d bytes, want about 60,000", m.Len())
	}
	if m := ask(t, s, UDP, "huge.test", miekg.TypeA, 1232); !m.Truncated || m.Len() > 1232 {
		t.Errorf("over UDP: got %d bytes, TC is %t, want it cut to 1232", m.Len(), m.Truncated)
	}

	conn, err := net.Dial("udp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	query, err := new(miekg.Msg).SetQuestion("rude.test.", miekg.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 65535)
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write(query); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(buffer); err != nil || n < 10_000 {
		t.Errorf("oversized: got %d bytes and %v, want the whole answer in one datagram", n, err)
	}
}

func TestWrongAnswers(t *testing.T) {
	s := start(t)
	set(t, s, "id.test", Answer(addr("10.0.0.5")).WrongID())
	set(t, s, "owner.test", Answer(addr("10.0.0.5")).Owner("else.test"))
	set(t, s, "question.test", Answer(addr("10.0.0.5")).Question("else.test"))

	if m := ask(t, s, UDP, "owner.test", miekg.TypeA, 0); m.Answer[0].Header().Name != "else.test." {
		t.Errorf("owner: got %v, want a record of else.test", m.Answer)
	}
	for _, name := range []string{"id.test", "question.test"} {
		conn, err := miekg.DialTimeout(UDP, s.Addr().String(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		query := new(miekg.Msg).SetQuestion(name+".", miekg.TypeA)
		if err := conn.WriteMsg(query); err != nil {
			t.Fatal(err)
		}
		m, err := conn.ReadMsg()
		if err != nil {
			t.Fatal(err)
		}
		if wrong := m.Id != query.Id; wrong != (name == "id.test") {
			t.Errorf("%s: the id is wrong: %t", name, wrong)
		}
		if wrong := m.Question[0].Name != query.Question[0].Name; wrong != (name == "question.test") {
			t.Errorf("%s: the question is wrong: %t", name, wrong)
		}
		_ = conn.Close()
	}
}

func TestShuffledAnswersHaveEveryAddressAndManyOrders(t *testing.T) {
	s := start(t)
	set(t, s, "many.test", Answer(addr("10.0.0.1"), addr("10.0.0.2"), addr("10.0.0.3"), addr("10.0.0.4")).Shuffle())
	orders := map[string]bool{}
	for range 12 {
		got := addrs(ask(t, s, UDP, "many.test", miekg.TypeA, 0))
		orders[strings.Join(got, " ")] = true
		slices.Sort(got)
		equal(t, "the addresses", got, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"})
	}
	if len(orders) < 4 {
		t.Errorf("got %d orders in 12 answers, want at least 4", len(orders))
	}
}
