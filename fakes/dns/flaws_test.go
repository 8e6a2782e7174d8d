package dns

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	miekg "github.com/miekg/dns"
)

// raw sends one A query and returns the bytes of the first n answers, nil for one that doesn't come.
func raw(t *testing.T, s *Server, transport, name string, n int) [][]byte {
	t.Helper()
	conn, err := net.Dial(transport, s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	query, err := new(miekg.Msg).SetQuestion(name+".", miekg.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	if transport == TCP {
		query = append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...)
	}
	if _, err := conn.Write(query); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	var answers [][]byte
	for range n {
		buffer := make([]byte, 65535)
		got, err := conn.Read(buffer)
		if errors.Is(err, io.EOF) {
			return append(answers, nil)
		}
		if err != nil {
			t.Fatalf("waiting for an answer about %s: %v", name, err)
		}
		answers = append(answers, buffer[:got])
	}
	return answers
}

func TestFlawedMessages(t *testing.T) {
	s := start(t)
	private := Answer(addr("10.0.0.5"), addr("fd66::5"))
	set(t, s, "chaos.test", private.Chaos())
	set(t, s, "referral.test", Referral("ns.test").Extra(addr("10.0.0.5"), addr("fd66::5")))
	set(t, s, "query.test", private.WithoutQR())

	if m := ask(t, s, UDP, "chaos.test", miekg.TypeA, 0); len(m.Answer) != 1 || m.Answer[0].Header().Class != miekg.ClassCHAOS {
		t.Errorf("class: got %v, want one record of the class CH", m.Answer)
	}
	m := ask(t, s, UDP, "referral.test", miekg.TypeA, 0)
	if len(m.Answer) != 0 || len(m.Ns) != 1 || len(m.Extra) != 2 || m.RecursionAvailable {
		t.Errorf("referral: got %v, want no answer, one name server and two additional addresses", m)
	}
	if m := ask(t, s, UDP, "query.test", miekg.TypeA, 0); m.Response || len(m.Answer) != 1 {
		t.Errorf("without QR: got %v", m)
	}
	want := []string{
		"NOERROR 10.0.0.5 class CH", "NOERROR empty additional addresses referral", "NOERROR 10.0.0.5 without QR",
	}
	for i, q := range s.Queries() {
		if q.Answer != want[i] {
			t.Errorf("the log says %q, want %q", q.Answer, want[i])
		}
	}
}

func TestMangledMessagesCanNotBeRead(t *testing.T) {
	s := start(t)
	for name, change := range map[string]func([]byte) []byte{"short.test": CutShort, "noise.test": Noise, "loop.test": PointerLoop} {
		set(t, s, name, Answer(addr("10.0.0.5")).Mangle(change))
		for _, transport := range []string{UDP, TCP} {
			answer := raw(t, s, transport, name, 1)[0]
			if transport == TCP {
				answer = answer[2:]
			}
			if err := new(miekg.Msg).Unpack(answer); err == nil {
				t.Errorf("%s over %s: % x can be read", name, transport, answer)
			}
		}
	}
	loop := PointerLoop(raw(t, s, UDP, "unknown.test", 1)[0])
	if err := new(miekg.Msg).Unpack(loop); err == nil || !strings.Contains(err.Error(), "pointer") {
		t.Errorf("the loop of an empty answer: got %v, want too many pointers", err)
	}
}

func TestOverTCPAnotherStepAnswers(t *testing.T) {
	s := start(t)
	cut := Empty().Truncated()
	set(t, s, "refused.test", cut.OverTCP(Fail(Refused)), Answer(addr("10.0.0.5")))
	set(t, s, "again.test", cut.OverTCP(cut), Answer(addr("10.0.0.5")))
	set(t, s, "gone.test", cut.OverTCP(HangUp()), Answer(addr("10.0.0.5")))

	for _, name := range []string{"refused.test", "again.test"} {
		if m := ask(t, s, UDP, name, miekg.TypeA, 0); !m.Truncated {
			t.Errorf("%s over UDP: got %v, want it cut", name, m)
		}
	}
	if m := ask(t, s, TCP, "refused.test", miekg.TypeA, 0); m.Rcode != miekg.RcodeRefused {
		t.Errorf("refused over TCP: got %v", m)
	}
	if m := ask(t, s, TCP, "again.test", miekg.TypeA, 0); !m.Truncated || len(m.Answer) > 0 {
		t.Errorf("cut over TCP too: got %v", m)
	}
	if got := raw(t, s, TCP, "gone.test", 1); got[0] != nil {
		t.Errorf("hung up: got % x", got[0])
	}
	for _, name := range []string{"refused.test", "again.test", "gone.test"} {
		equal(t, name+", the next lookup", addrs(ask(t, s, UDP, name, miekg.TypeA, 0)), []string{"10.0.0.5"})
	}
}

func TestOthersAnswerBefore(t *testing.T) {
	s := start(t)
	set(t, s, "behind.test", Answer(addr("93.184.216.34")).Behind(Answer(addr("10.0.0.5")).WrongID(), CNAME("x.test", addr("10.0.0.6")).Owner("y.test")))
	var got []string
	for _, answer := range raw(t, s, UDP, "behind.test", 3) {
		m := new(miekg.Msg)
		if err := m.Unpack(answer); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(addrs(m), " "))
	}
	equal(t, "three answers", got, []string{"10.0.0.5", "10.0.0.6", "93.184.216.34"})
}

func TestFourThousandRecordsFitOverTCP(t *testing.T) {
	s := start(t)
	var many []netip.Addr
	for i := range 4000 {
		many = append(many, netip.AddrFrom4([4]byte{93, 184, byte(i / 250), byte(i%250 + 1)}))
	}
	set(t, s, "many.test", Answer(many...))
	if m := ask(t, s, TCP, "many.test", miekg.TypeA, 0); m.Truncated || len(m.Answer) != 4000 {
		t.Errorf("got %d records, TC is %t", len(m.Answer), m.Truncated)
	}
}

func TestFlawsAreChecked(t *testing.T) {
	s := start(t)
	for want, step := range map[string]Step{
		"additional address": Empty().Extra(netip.Addr{}),
		"referral":           Referral(".."),
		"rcode":              Empty().Truncated().OverTCP(Fail(99)),
		"owner":              Empty().Behind(Empty().Owner("..")),
	} {
		if err := s.Set("a.test", step); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}
