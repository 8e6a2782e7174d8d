package dns

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	miekg "github.com/miekg/dns"
	. "github.com/onsi/gomega"
)

// start gives each test a server of its own.
func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func set(t *testing.T, s *Server, name string, steps ...Step) {
	t.Helper()
	if err := s.Set(name, steps...); err != nil {
		t.Fatal(err)
	}
}

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

// ask sends one query, with room for an answer of size bytes over UDP (0: no EDNS).
func ask(t *testing.T, s *Server, transport, name string, qtype uint16, size uint16) *miekg.Msg {
	t.Helper()
	m := new(miekg.Msg).SetQuestion(miekg.Fqdn(name), qtype)
	if size > 0 {
		m.SetEdns0(size, false)
	}
	client := &miekg.Client{Net: transport, Timeout: 5 * time.Second, UDPSize: 65535}
	answer, _, err := client.ExchangeContext(t.Context(), m, s.Addr().String())
	if err != nil {
		t.Fatalf("asking for %s over %s: %v", name, transport, err)
	}
	return answer
}

// addrs are the addresses of an answer, in its order.
func addrs(m *miekg.Msg) []string {
	list := []string{}
	for _, record := range m.Answer {
		switch record := record.(type) {
		case *miekg.A:
			list = append(list, record.A.String())
		case *miekg.AAAA:
			list = append(list, ipv6(record.AAAA))
		}
	}
	return list
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestAResolverSeesTheScript(t *testing.T) {
	s := start(t)
	set(t, s, "both.test", Answer(addr("93.184.216.34"), addr("fd66::5"), addr("::ffff:10.0.0.5")))
	set(t, s, "only4.test", Answer(addr("10.0.0.5")))
	set(t, s, "alias.test", CNAME("other.test"))
	set(t, s, "other.test", CNAME("only4.test"))
	set(t, s, "broken.test", Fail(ServFail))
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Addr().String())
	}}
	look := func(name string) []string {
		t.Helper()
		found, err := resolver.LookupNetIP(t.Context(), "ip", name)
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{}
		for _, a := range found {
			texts = append(texts, a.String())
		}
		slices.Sort(texts)
		return texts
	}
	equal(t, "both families", look("both.test."), []string{"93.184.216.34", "::ffff:10.0.0.5", "fd66::5"})
	equal(t, "one family", look("only4.test."), []string{"10.0.0.5"})
	equal(t, "a chain", look("alias.test."), []string{"10.0.0.5"})

	var fault *net.DNSError
	if _, err := resolver.LookupNetIP(t.Context(), "ip", "unknown.test."); !errors.As(err, &fault) || !fault.IsNotFound {
		t.Errorf("an unknown name: got %v, want not found", err)
	}
	if _, err := resolver.LookupNetIP(t.Context(), "ip", "broken.test."); !errors.As(err, &fault) || !fault.IsTemporary {
		t.Errorf("SERVFAIL: got %v, want a temporary error", err)
	}
}

func TestDelayAndSilence(t *testing.T) {
	s := start(t)
	set(t, s, "late.test", Answer(addr("10.0.0.5")).After(150*time.Millisecond))
	set(t, s, "alias.test", CNAME("late.test").After(100*time.Millisecond))
	set(t, s, "never.test", Silent())

	for name, want := range map[string]time.Duration{"late.test": 150 * time.Millisecond, "alias.test": 250 * time.Millisecond} {
		began := time.Now()
		ask(t, s, UDP, name, miekg.TypeA, 0)
		if took := time.Since(began); took < want {
			t.Errorf("%s: answered after %s, want at least %s", name, took, want)
		}
	}
	client := &miekg.Client{Timeout: 200 * time.Millisecond}
	query := new(miekg.Msg).SetQuestion("never.test.", miekg.TypeA)
	if _, _, err := client.ExchangeContext(t.Context(), query, s.Addr().String()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("silence: got %v, want a timeout", err)
	}
	if log := s.QueriesFor("never.test"); len(log) != 1 || log[0].Answer != "silent" {
		t.Errorf("silence: the log is %+v, want the one query", log)
	}
}

func TestTheLog(t *testing.T) {
	s := start(t)
	set(t, s, "a.test", CNAME("b.test"))
	set(t, s, "b.test", Answer(addr("10.0.0.5"), addr("::ffff:10.0.0.5")).After(time.Millisecond))
	before := time.Now()
	ask(t, s, UDP, "A.Test", miekg.TypeA, 0)
	ask(t, s, TCP, "a.test", miekg.TypeAAAA, 0)
	ask(t, s, UDP, "nowhere.test", miekg.TypeTXT, 0)

	log := s.Queries()
	if len(log) != 3 {
		t.Fatalf("got %d queries, want 3: %+v", len(log), log)
	}
	for i, want := range []Query{
		{Name: "a.test", Asked: "A.Test", Type: "A", Nth: 1, Transport: UDP, Answer: "NOERROR CNAME b.test 10.0.0.5 after 1ms"},
		{Name: "a.test", Asked: "a.test", Type: "AAAA", Nth: 1, Transport: TCP, Answer: "NOERROR CNAME b.test ::ffff:10.0.0.5 after 1ms"},
		{Name: "nowhere.test", Asked: "nowhere.test", Type: "TXT", Transport: UDP, Answer: "NXDOMAIN"},
	} {
		got := log[i]
		if got.Time.Before(before) || got.Client.Addr() != addr("127.0.0.1") || got.Client.Port() == 0 {
			t.Errorf("query %d: time %s and client %s", i, got.Time, got.Client)
		}
		got.Time, got.Client = time.Time{}, netip.AddrPort{}
		if got != want {
			t.Errorf("query %d: got %+v, want %+v", i, got, want)
		}
	}
	s.Reset()
	if len(s.Queries()) != 0 {
		t.Error("after Reset the log isn't empty")
	}
	if m := ask(t, s, UDP, "a.test", miekg.TypeA, 0); m.Rcode != miekg.RcodeNameError {
		t.Error("after Reset a script is still there")
	}
}

func TestCloseDropsWhatIsHeldBack(t *testing.T) {
	s, err := Start(t.Context(), "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	set(t, s, "late.test", Answer(addr("10.0.0.5")).After(time.Hour))
	conn, err := net.Dial("udp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	query, _ := new(miekg.Msg).SetQuestion("late.test.", miekg.TypeA).Pack()
	if _, err := conn.Write(query); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(s.Queries, "5s", "2ms").Should(HaveLen(1))
	began := time.Now()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > drain {
		t.Errorf("Close took %s", took)
	}
}

func TestBadInputIsNamed(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		name  string
		steps []Step
		want  string
	}{
		{"", []Step{Empty()}, "the name is empty"},
		{"a..test", []Step{Empty()}, `"a..test" is no domain name`},
		{strings.Repeat("x", 64) + ".test", []Step{Empty()}, "labels of 1 to 63 bytes"},
		{"a.test", nil, "no steps"},
		{"a.test", []Step{Empty(), CNAME("b..test")}, "step 2: CNAME target"},
		{"a.test", []Step{Answer(netip.Addr{})}, "address: is the zero value"},
		{"a.test", []Step{Fail(99)}, "rcode: 99 is outside 0 to 15"},
		{"a.test", []Step{Empty().Pad(70_000)}, "padding: 70000 bytes is outside 0 to 60000"},
		{"a.test", []Step{Empty().After(-1)}, "delay: -1ns is negative"},
		{"a.test", []Step{Empty().Owner("..")}, "owner"},
		{"a.test", []Step{Empty().Question("..")}, "question"},
	} {
		if err := s.Set(c.name, c.steps...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Set(%q): got %v, want it to say %q", c.name, err, c.want)
		}
	}
	if err := s.SetFunc("a.test", nil); err == nil {
		t.Error("a nil function is taken")
	}
	if other, err := Start(t.Context(), s.Addr().String()); err == nil {
		_ = other.Close()
		t.Error("a second server starts on a taken port")
	} else if !strings.Contains(err.Error(), s.Addr().String()) {
		t.Errorf("the error doesn't name the address: %v", err)
	}
}
