package dns

import (
	"net"
	"strings"
	"testing"

	miekg "github.com/miekg/dns"
)

// FuzzNormalize: a name that is taken is taken alike in every spelling.
func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{
		"a.test", "A.Test.", "*.zone.test", ".", "", "..", `a\.b.test`, `\097.test`, `\000.test`, `\`, `\25`, "x y.test",
		"127.0.0.1", "[::1]", "bücher.test", strings.Repeat("x", 63) + ".test", strings.Repeat("a.", 127), "\xff.test",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		first, err := normalize(name)
		if err != nil {
			return
		}
		for _, spelling := range []string{string(first), miekg.Fqdn(name), withoutDot(string(first))} {
			again, err := normalize(spelling)
			if err != nil || again != first {
				t.Errorf("%q became %q, but its spelling %q became %q (%v)", name, first, spelling, again, err)
			}
		}
	})
}

// FuzzAnswer: whatever the library reads as a message gets one answer that can be packed, or none, and never a panic.
func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"a.test.", "A.TEST.", "chain.test.", "x.zone.test.", "nowhere.", "."} {
		for _, qtype := range []uint16{miekg.TypeA, miekg.TypeAAAA, miekg.TypeANY, miekg.TypeCNAME, miekg.TypeHTTPS} {
			packed, err := new(miekg.Msg).SetQuestion(name, qtype).SetEdns0(1232, true).Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(packed, qtype == miekg.TypeA)
		}
	}
	f.Add([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}, true) // a header that promises a question
	f.Add([]byte{}, false)

	s := &Server{scripts: map[canonical]script{}, counts: map[lookup]int{}, closing: make(chan struct{})}
	for name, step := range map[string]Step{
		"a.test":      Answer(addr("10.0.0.5"), addr("fd66::5")).Shuffle().Chaos().Extra(addr("10.0.0.6")),
		"chain.test":  CNAME("a.test").Pad(2000).WrongID().OverTCP(Referral("ns.test")),
		"*.zone.test": CNAME("chain.test").Question("else.test").Owner("else.test"),
	} {
		if err := s.Set(name, step); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, packet []byte, udp bool) {
		query := new(miekg.Msg)
		if query.Unpack(packet) != nil {
			return
		}
		transport := TCP
		if udp {
			transport = UDP
		}
		w := &memory{}
		s.answer(w, query, transport)
		if len(w.written) != 1 {
			t.Fatalf("got %d answers, want 1", len(w.written))
		}
		packed, err := w.written[0].Pack()
		if err != nil {
			t.Fatalf("the answer can't be packed: %v\n%v", err, w.written[0])
		}
		if udp && query.IsEdns0() == nil && len(packed) > miekg.MinMsgSize {
			t.Errorf("got %d bytes over UDP without EDNS, want at most %d", len(packed), miekg.MinMsgSize)
		}
	})
}

// memory is a client that keeps what it is sent.
type memory struct {
	miekg.ResponseWriter
	written []*miekg.Msg
}

func (m *memory) RemoteAddr() net.Addr { return &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 53} }

func (m *memory) WriteMsg(msg *miekg.Msg) error {
	m.written = append(m.written, msg)
	return nil
}
