package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A dnsServer is a scripted DNS server on a port of 127.0.0.1, over UDP and TCP.
type dnsServer struct {
	port string

	mu    sync.Mutex
	asked []string // "udp pub.test. A"
}

func (s *dnsServer) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// serveDNS starts a server that answers by script, which may answer nothing.
func serveDNS(t *testing.T, script func(w dns.ResponseWriter, network string, query *dns.Msg)) *dnsServer {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{}
	_, s.port, _ = net.SplitHostPort(tcp.Addr().String())
	handler := func(network string) dns.Handler {
		return dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
			s.mu.Lock()
			s.asked = append(s.asked, network+" "+query.Question[0].Name+" "+dns.TypeToString[query.Question[0].Qtype])
			s.mu.Unlock()
			script(w, network, query)
		})
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // after the shutdowns below
	for _, server := range []*dns.Server{{PacketConn: udp, Handler: handler("udp")}, {Listener: tcp, Handler: handler("tcp")}} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		running.Go(func() { _ = server.ActivateAndServe() })
		<-started
		t.Cleanup(func() { _ = server.Shutdown() })
	}

	return s
}

// resolverOf returns a resolver with short times whose resolv.conf holds text.
func resolverOf(t *testing.T, s *dnsServer, text string) *dnsResolver {
	t.Helper()
	path := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &dnsResolver{path: path, port: s.port, total: 4 * time.Second, try: 400 * time.Millisecond, grace: 200 * time.Millisecond}
}

const loopbackServer = "nameserver 127.0.0.1\n"

func record(text string) dns.RR {
	rr, err := dns.NewRR(text)
	if err != nil {
		panic(err)
	}
	return rr
}

// reply answers with those of records that are aliases or of the type asked for.
func reply(query *dns.Msg, records ...string) *dns.Msg {
	m := new(dns.Msg).SetReply(query)
	for _, text := range records {
		if rr := record(text); rr.Header().Rrtype == query.Question[0].Qtype || rr.Header().Rrtype == dns.TypeCNAME {
			m.Answer = append(m.Answer, rr)
		}
	}
	return m
}

func TestLookupAsksBothFamiliesForTheAbsoluteName(t *testing.T) {
	server := serveDNS(t, func(w dns.ResponseWriter, _ string, query *dns.Msg) {
		_ = w.WriteMsg(reply(query, "Pub.Test. 0 IN A 93.184.216.34", "pub.test. 0 IN A 93.184.216.35", "pub.test. 0 IN AAAA 2606:2800::1", "other.test. 0 IN A 10.0.0.5"))
	})
	r := resolverOf(t, server, loopbackServer+"search evil.test lan\noptions ndots:5\n")
	got, err := r.Lookup(t.Context(), "pub.test")
	if want := addrs("93.184.216.34", "93.184.216.35", "2606:2800::1"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	asked := server.questions()
	slices.Sort(asked)
	if want := []string{"udp pub.test. A", "udp pub.test. AAAA"}; !slices.Equal(asked, want) {
		t.Errorf("DNS was asked %v, want %v", asked, want)
	}
}

func TestLookupFollowsAliasesWithinTheAnswer(t *testing.T) {
	server := serveDNS(t, func(w dns.ResponseWriter, _ string, query *dns.Msg) {
		_ = w.WriteMsg(reply(query, "c.test. 0 IN A 93.184.216.34", "b.test. 0 IN CNAME c.test.", "a.test. 0 IN CNAME B.test.", "a.test. 0 IN A 10.0.0.5"))
	})
	got, err := resolverOf(t, server, loopbackServer).Lookup(t.Context(), "a.test")
	if want := addrs("93.184.216.34"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestLookupFailsClosed(t *testing.T) {
	huge := make([]string, maxRecords+1)
	for i := range huge {
		huge[i] = fmt.Sprintf("x.test. 0 IN A 93.184.%d.%d", i/250, i%250)
	}
	rcode := func(code int) func(dns.ResponseWriter, string, *dns.Msg) {
		return func(w dns.ResponseWriter, _ string, query *dns.Msg) {
			_ = w.WriteMsg(new(dns.Msg).SetRcode(query, code))
		}
	}
	answer := func(records ...string) func(dns.ResponseWriter, string, *dns.Msg) {
		return func(w dns.ResponseWriter, _ string, query *dns.Msg) { _ = w.WriteMsg(reply(query, records...)) }
	}
	for name, row := range map[string]struct {
		script    func(dns.ResponseWriter, string, *dns.Msg)
		noAddress bool
	}{
		"NXDOMAIN":      {rcode(dns.RcodeNameError), true},
		"SERVFAIL":      {rcode(dns.RcodeServerFailure), false},
		"REFUSED":       {rcode(dns.RcodeRefused), false},
		"empty":         {answer(), true},
		"another name":  {answer("y.test. 0 IN A 93.184.216.34"), true},
		"dangling":      {answer("x.test. 0 IN CNAME y.test."), true},
		"loop":          {answer("x.test. 0 IN CNAME y.test.", "y.test. 0 IN CNAME x.test."), false},
		"itself":        {answer("x.test. 0 IN CNAME x.test."), false},
		"two aliases":   {answer("x.test. 0 IN CNAME y.test.", "x.test. 0 IN CNAME z.test.", "y.test. 0 IN A 93.184.216.34"), false},
		"another class": {answer("x.test. 0 CH A 93.184.216.34"), true},
		"silence":       {func(dns.ResponseWriter, string, *dns.Msg) {}, false},
		"garbage": {func(w dns.ResponseWriter, _ string, query *dns.Msg) {
			packed, _ := reply(query, "x.test. 0 IN A 93.184.216.34", "x.test. 0 IN AAAA 2606:2800::1").Pack()
			_, _ = w.Write(packed[:len(packed)-2])
		}, false},
		"too many": {func(w dns.ResponseWriter, network string, query *dns.Msg) {
			m := reply(query, huge...)
			if network == "udp" {
				m = reply(query)
				m.Truncated = true
			}
			_ = w.WriteMsg(m)
		}, false},
		"always truncated": {func(w dns.ResponseWriter, _ string, query *dns.Msg) {
			m := reply(query, "x.test. 0 IN A 93.184.216.34", "x.test. 0 IN AAAA 2606:2800::1")
			m.Truncated = true
			_ = w.WriteMsg(m)
		}, false},
		"a query, not an answer": {func(w dns.ResponseWriter, _ string, query *dns.Msg) {
			m := reply(query, "x.test. 0 IN A 93.184.216.34", "x.test. 0 IN AAAA 2606:2800::1")
			m.Response = false
			_ = w.WriteMsg(m)
		}, false},
		"wrong id": {func(w dns.ResponseWriter, _ string, query *dns.Msg) {
			m := reply(query, "x.test. 0 IN A 93.184.216.34", "x.test. 0 IN AAAA 2606:2800::1")
			m.Id++
			_ = w.WriteMsg(m)
		}, false},
		"another question": {func(w dns.ResponseWriter, _ string, query *dns.Msg) {
			m := reply(query, "x.test. 0 IN A 93.184.216.34", "x.test. 0 IN AAAA 2606:2800::1")
			m.Question[0].Name = "y.test."
			_ = w.WriteMsg(m)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolverOf(t, serveDNS(t, row.script), loopbackServer)
			got, err := r.Lookup(t.Context(), "x.test")
			if err == nil || len(got) > 0 || errors.Is(err, errNoAddress) != row.noAddress {
				t.Errorf("got %v, %v; want an error, errNoAddress: %v", got, err, row.noAddress)
			}
		})
	}
}

func TestAnAnswersOtherRecordsCountForNothing(t *testing.T) {
	for qtype, want := range map[uint16]string{dns.TypeA: "93.184.216.34", dns.TypeAAAA: "2606:2800::1"} {
		question := dns.Question{Name: "X.test.", Qtype: qtype, Qclass: dns.ClassINET}
		m := &dns.Msg{}
		for _, text := range []string{"x.test. 0 IN A 93.184.216.34", "x.test. 0 IN AAAA 2606:2800::1", "y.test. 0 IN A 10.0.0.5", "x.test. 0 IN TXT 10.0.0.5"} {
			m.Answer = append(m.Answer, record(text))
		}
		m.Extra = append(m.Extra, record("x.test. 0 IN A 10.0.0.5"), record("x.test. 0 IN AAAA fd00::1"))
		if got, err := addresses(m, question); err != nil || !slices.Equal(got, addrs(want)) {
			t.Errorf("got %v, %v; want %s", got, err, want)
		}
	}
}

func TestLookupTakesATruncatedAnswerByTCP(t *testing.T) {
	server := serveDNS(t, func(w dns.ResponseWriter, network string, query *dns.Msg) {
		m := reply(query, "x.test. 0 IN A 93.184.216.34")
		if m.Truncated = network == "udp"; m.Truncated {
			m = reply(query, "x.test. 0 IN A 93.184.216.99")
			m.Truncated = true
		}
		_ = w.WriteMsg(m)
	})
	got, err := resolverOf(t, server, loopbackServer).Lookup(t.Context(), "x.test")
	if want := addrs("93.184.216.34"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestLookupPassesOverLateAndForeignAnswers(t *testing.T) {
	server := serveDNS(t, func(w dns.ResponseWriter, _ string, query *dns.Msg) {
		for _, wrong := range []func(*dns.Msg){
			func(m *dns.Msg) { m.Id++ },
			func(m *dns.Msg) { m.Question[0].Name = "y.test." },
			func(m *dns.Msg) { m.Response = false },
		} {
			m := reply(query.Copy(), "x.test. 0 IN A 93.184.216.99")
			wrong(m)
			_ = w.WriteMsg(m)
		}
		_ = w.WriteMsg(reply(query, "x.test. 0 IN A 93.184.216.34"))
	})
	got, err := resolverOf(t, server, loopbackServer).Lookup(t.Context(), "x.test")
	if want := addrs("93.184.216.34"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestLookupAsksAgain(t *testing.T) {
	var mu sync.Mutex
	tries := map[uint16]int{}
	server := serveDNS(t, func(w dns.ResponseWriter, _ string, query *dns.Msg) {
		mu.Lock()
		defer mu.Unlock()
		qtype := query.Question[0].Qtype
		if tries[qtype]++; tries[qtype] == 1 && qtype == dns.TypeA {
			return // the first packet is lost
		}
		_ = w.WriteMsg(reply(query, "x.test. 0 IN A 93.184.216.34"))
	})
	got, err := resolverOf(t, server, loopbackServer).Lookup(t.Context(), "x.test")
	if want := addrs("93.184.216.34"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestLookupDoesNotWaitLongForASilentFamily(t *testing.T) {
	server := serveDNS(t, func(w dns.ResponseWriter, _ string, query *dns.Msg) {
		if query.Question[0].Qtype == dns.TypeA {
			_ = w.WriteMsg(reply(query, "x.test. 0 IN A 93.184.216.34"))
		}
	})
	r := resolverOf(t, server, loopbackServer)
	r.try = 3 * time.Second
	began := time.Now()
	got, err := r.Lookup(t.Context(), "x.test")
	if want := addrs("93.184.216.34"); err != nil || !slices.Equal(got, want) || time.Since(began) > 2*time.Second {
		t.Errorf("got %v, %v after %v; want %v soon", got, err, time.Since(began), want)
	}
}

func TestLookupEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := serveDNS(t, func(dns.ResponseWriter, string, *dns.Msg) { cancel() })
	r := resolverOf(t, server, loopbackServer)
	r.try, r.total = time.Minute, time.Minute
	if got, err := r.Lookup(ctx, "x.test"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v; want the cancellation", got, err)
	}
}

func TestTheServerListIsReadAgainWhenItChanges(t *testing.T) {
	server := serveDNS(t, func(w dns.ResponseWriter, _ string, query *dns.Msg) {
		_ = w.WriteMsg(reply(query, "x.test. 0 IN A 93.184.216.34"))
	})
	r := resolverOf(t, server, "# nothing yet\nnameserver not-an-address\n")
	if got, err := r.Lookup(t.Context(), "x.test"); err == nil || !strings.Contains(err.Error(), "names no DNS server") {
		t.Fatalf("got %v, %v; want an error about the list", got, err)
	}
	if err := os.WriteFile(r.path, []byte(loopbackServer), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Lookup(t.Context(), "x.test"); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v; want one address", got, err)
	}
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Lookup(t.Context(), "x.test"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, %v; want the missing file", got, err)
	}
}

func TestTheAppsNameComesFromTheHostsFileFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	text := "127.0.0.1 localhost\n# 10.0.0.9 app\n10.0.0.5\tother App # app\nnonsense app\n::5 app\n10.0.0.6 app2\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	next := lookup(func(context.Context, string) ([]netip.Addr, error) { return addrs("10.9.9.9"), nil })
	for _, row := range []struct {
		path, name string
		want       []netip.Addr
	}{
		{path, "app", addrs("10.0.0.5", "::5")},
		{path, "localhost", addrs("127.0.0.1")},
		{path, "x.localhost", addrs("127.0.0.1", "::1")},
		{path, "unknown.test", addrs("10.9.9.9")},
		{path + ".missing", "app", addrs("10.9.9.9")},
		{path + ".missing", "localhost", addrs("127.0.0.1", "::1")},
	} {
		got, err := (&appResolver{path: row.path, next: next}).Lookup(t.Context(), row.name)
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s in %s: got %v, %v; want %v", row.name, filepath.Base(row.path), got, err, row.want)
		}
	}
}

// FuzzAnswer reads any bytes as the answer to a question: at worst an error, and never an address of another name.
func FuzzAnswer(f *testing.F) {
	question := dns.Question{Name: "x.test.", Qtype: dns.TypeA, Qclass: dns.ClassINET}
	query := &dns.Msg{Question: []dns.Question{question}}
	for _, records := range [][]string{
		{"x.test. 0 IN A 93.184.216.34"},
		{"x.test. 0 IN CNAME y.test.", "y.test. 0 IN A 10.0.0.5"},
		{"x.test. 0 IN CNAME x.test."},
		{},
	} {
		packed, err := reply(query, records...).Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
		f.Add(packed[:len(packed)-1])
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		var m dns.Msg
		if err := m.Unpack(packet); err != nil || !answers(&m, question) {
			return
		}
		got, err := addresses(&m, question)
		if (err == nil) != (len(got) > 0) {
			t.Fatalf("got %v, %v", got, err)
		}
		for _, addr := range got {
			if !addr.Is4() {
				t.Fatalf("got %v as an answer to A", addr)
			}
		}
	})
}
