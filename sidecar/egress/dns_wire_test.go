package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A server that sends a byte now and then must not hold a look-up for longer than one that says nothing.
func TestATricklingAnswerIsNotWaitedFor(t *testing.T) {
	at := serveConns(t, func(conn *net.TCPConn) {
		_, err := conn.Write([]byte{0xff, 0xff})
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for err == nil {
			<-tick.C
			_, err = conn.Write([]byte{0})
		}
	})
	r := &dnsResolver{try: 300 * time.Millisecond}
	began := time.Now()
	_, err := r.roundTrip(t.Context(), "tcp", at, dns.Question{Name: "x.test.", Qtype: dns.TypeA, Qclass: dns.ClassINET})
	if err == nil || time.Since(began) > 3*time.Second {
		t.Errorf("got %v after %v, want an error after %v", err, time.Since(began), r.try)
	}
}

// A server's strays are read up to a bound, and what is asked again after them is bounded too.
func TestAFloodOfStraysEndsTheLookup(t *testing.T) {
	server := serveDNS(t, func(w dns.ResponseWriter, _ string, query *dns.Msg) {
		m := reply(query, "x.test. 0 IN A 10.0.0.5")
		m.Id++
		for range 4 * strayPackets {
			_ = w.WriteMsg(m)
		}
	})
	got, err := resolverOf(t, server, loopbackServer).Lookup(t.Context(), "x.test")
	if err == nil || errors.Is(err, errNoAddress) {
		t.Errorf("got %v, %v; want an error that says nothing of addresses", got, err)
	}
}

// After a truncated answer only what comes by TCP counts, whatever becomes of it.
func TestATruncatedAnswerThatTCPDoesNotCompleteIsAnError(t *testing.T) {
	for name, byTCP := range map[string]func(w dns.ResponseWriter, query *dns.Msg){
		"silence": func(dns.ResponseWriter, *dns.Msg) {},
		"hung up": func(w dns.ResponseWriter, _ *dns.Msg) { _ = w.Close() },
		"noise":   func(w dns.ResponseWriter, _ *dns.Msg) { _, _ = w.Write(make([]byte, 100)) },
		"REFUSED": func(w dns.ResponseWriter, q *dns.Msg) { _ = w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeRefused)) },
		"a loop":  func(w dns.ResponseWriter, q *dns.Msg) { _ = w.WriteMsg(reply(q, "x.test. 0 IN CNAME x.test.")) },
		"too many": func(w dns.ResponseWriter, q *dns.Msg) {
			m := reply(q, fourThousand()...)
			m.Compress = true // else it doesn't fit
			if err := w.WriteMsg(m); err != nil {
				panic(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveDNS(t, func(w dns.ResponseWriter, network string, query *dns.Msg) {
				if network == "tcp" {
					byTCP(w, query)
					return
				}
				m := reply(query, "x.test. 0 IN A 93.184.216.34")
				m.Truncated = true
				_ = w.WriteMsg(m)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if got, err := resolverOf(t, server, loopbackServer).Lookup(ctx, "x.test"); err == nil || ctx.Err() != nil {
				t.Errorf("got %v, %v; want an error in time", got, err)
			}
		})
	}
}

// fourThousand records are more than any honest name has, and hardly fit into a message.
func fourThousand() []string {
	var all []string
	for i := range 4000 {
		all = append(all, fmt.Sprintf("x.test. 0 IN A 93.185.%d.%d", i/250, i%250))
	}
	return all
}
