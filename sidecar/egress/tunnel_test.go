package egress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tunnelTo opens a tunnel to pub.test:443.
func (r *rig) tunnelTo(t testing.TB, early string) *client {
	t.Helper()
	c := r.connect(t)
	c.send(t, "CONNECT pub.test:443 HTTP/1.1\r\nHost: pub.test:443\r\n\r\n"+early)
	if resp, _ := c.response(t, "CONNECT"); resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT got %d", resp.StatusCode)
	}
	return c
}

func echo(conn *net.TCPConn) {
	_, _ = io.Copy(conn, conn)
	_ = conn.CloseWrite()
}

func TestATunnelCarriesBothDirections(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":443", serveConns(t, echo))
	c := r.tunnelTo(t, "early ")
	c.send(t, "late")
	_ = c.CloseWrite()
	if got, err := io.ReadAll(c.in); err != nil || string(got) != "early late" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestATunnelCarriesFiftyMebibytes(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":443", serveConns(t, echo))
	c := r.tunnelTo(t, "")
	noise := bytes.Repeat([]byte("0123456789abcdef-"), 50<<20/17)
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = c.Write(noise)
		_ = c.CloseWrite()
	})
	sum := sha256.New()
	n, err := io.Copy(sum, c.in)
	sending.Wait()
	if want := sha256.Sum256(noise); err != nil || n != int64(len(noise)) || !bytes.Equal(sum.Sum(nil), want[:]) {
		t.Errorf("%d bytes came back, %v; want %d whole", n, err, len(noise))
	}
}

func TestEachDirectionEndsByItself(t *testing.T) {
	r := newRig(t, defaultLimits(), nil)
	heard := make(chan string, 1)
	r.network.route(pubAddr+":443", serveConns(t, func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "bye")
		_ = conn.CloseWrite() // and go on reading
		got, _ := io.ReadAll(conn)
		heard <- string(got)
	}))
	c := r.tunnelTo(t, "")
	if got, err := io.ReadAll(c.in); err != nil || string(got) != "bye" {
		t.Errorf("got %q, %v", got, err)
	}
	c.send(t, "still ")
	c.send(t, "here")
	_ = c.CloseWrite()
	if got := <-heard; got != "still here" {
		t.Errorf("the origin got %q after its own end", got)
	}
}

func TestAHalfClosedTunnelLastsWhileItMoves(t *testing.T) {
	l := quick()
	r := newRig(t, l, nil)
	r.network.route(pubAddr+":443", serveConns(t, func(conn *net.TCPConn) {
		_, _ = io.Copy(io.Discard, conn)
		tick := time.NewTicker(l.patience / 3)
		defer tick.Stop()
		for range 10 { // more than three times the patience
			<-tick.C
			_, _ = io.WriteString(conn, "x")
		}
		_, _ = io.ReadAll(conn)
		<-t.Context().Done() // then silence
	}))
	c := r.tunnelTo(t, "")
	_ = c.CloseWrite()
	began := time.Now()
	got, _ := io.ReadAll(c.in)
	if string(got) != strings.Repeat("x", 10) || time.Since(began) > 10*time.Second {
		t.Errorf("got %q in %v; want ten bytes and then an end", got, time.Since(began))
	}
}

func TestAnIdleTunnelStaysOpen(t *testing.T) {
	l := quick()
	r := newRig(t, l, nil)
	r.network.route(pubAddr+":443", serveConns(t, echo))
	c := r.tunnelTo(t, "")
	_ = c.SetReadDeadline(time.Now().Add(3 * l.patience))
	if _, err := c.in.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the idle tunnel ended: %v", err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	c.send(t, "x")
	if b, err := c.in.ReadByte(); err != nil || b != 'x' {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	r := newRig(t, defaultLimits(), func(o *Options) {
		known := o.Resolver
		o.Resolver = slowly(known)
	})
	r.network.route(pubAddr+":443", serveConns(t, echo))
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) }))
	r.network.route(pubAddr+":81", silent)
	tunnel := r.tunnelTo(t, "")
	waiting := []*client{tunnel}
	for _, request := range []string{
		get("/"), "GET http://pub.test:81/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT pub.test:81 HTTP/1.1\r\n\r\n", "GET http://slow.test/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://pub", "",
	} {
		c := r.connect(t)
		c.send(t, request)
		waiting = append(waiting, c)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, c := range waiting {
		c.ended(t)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("closing took %v", took)
	}
	if conn, err := net.Dial("tcp", r.Addr()); err == nil {
		_ = conn.Close()
		t.Error("the port still listens")
	}
	if err := r.Close(ctx); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// slowly makes every look-up of slow.test last until its context ends, and then give a public address.
func slowly(known Resolver) lookup {
	return func(ctx context.Context, name string) ([]netip.Addr, error) {
		if name == "slow.test" {
			<-ctx.Done()
			return addrs(pubAddr), nil
		}
		return known.Lookup(ctx, name)
	}
}

func TestALookupThatEndsAfterCloseConnectsNowhere(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	r := newRig(t, defaultLimits(), func(o *Options) {
		o.Resolver = lookup(func(context.Context, string) ([]netip.Addr, error) {
			close(asked)
			<-answer // deaf to its context
			return addrs(pubAddr), nil
		})
	})
	c := r.connect(t)
	c.send(t, "CONNECT pub.test:443 HTTP/1.1\r\n\r\n")
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close during the look-up: %v, want its deadline", err)
	}
	close(answer)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dials := r.network.dials(); len(dials) > 0 {
		t.Errorf("dialled %v after Close", dials)
	}
}

func TestTheNextAddressIsTried(t *testing.T) {
	l := quick()
	l.connect.timeout, l.connect.total = time.Minute, time.Minute // a silent one isn't waited for
	for _, first := range []string{refuses, silent, strays} {
		r := newRig(t, l, nil)
		r.network.route("strays to", serveConns(t, echo))
		r.network.route(pubAddr+":443", first)
		r.network.route(pubAddr2+":443", serveConns(t, echo))
		c := r.connect(t)
		c.send(t, "CONNECT two.test:443 HTTP/1.1\r\n\r\nx")
		if resp, _ := c.response(t, "CONNECT"); resp.StatusCode != http.StatusOK {
			t.Errorf("a first address that %s: got %d", first, resp.StatusCode)
		} else if b, err := c.in.ReadByte(); err != nil || b != 'x' {
			t.Errorf("got %q, %v", b, err)
		}
		if dials := r.network.dials(); !slices.Equal(dials, []string{pubAddr + ":443", pubAddr2 + ":443"}) {
			t.Errorf("dialled %v", dials)
		}
	}
}

func TestADeadHostFailsInTime(t *testing.T) {
	for _, row := range []struct{ how, code string }{{refuses, "ECONNREFUSED"}, {silent, "ETIMEDOUT"}} {
		r := newRig(t, quick(), nil)
		r.network.route(pubAddr+":80", row.how)
		resp, body := r.ask(t, get("/"))
		if want := "pub.test could not be reached (" + row.code + ")\n"; resp.StatusCode != http.StatusBadGateway || body != want || !resp.Close {
			t.Errorf("a host that %s: got %d %q, want 502 %q", row.how, resp.StatusCode, body, want)
		}
		resp, body = r.ask(t, "CONNECT pub.test:80 HTTP/1.1\r\n\r\n")
		if resp.StatusCode != http.StatusBadGateway || body != "" || resp.Header.Get("Content-Length") != "0" {
			t.Errorf("a host that %s: CONNECT got %d %q, want a bare 502", row.how, resp.StatusCode, body)
		}
	}
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) }))
	if resp, body := r.ask(t, get("/")); resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, "ETIMEDOUT") {
		t.Errorf("a host that never answers: got %d %q", resp.StatusCode, body)
	}
}

func TestTheDefaultLimitsKeepADeadHostBelowThirtySeconds(t *testing.T) {
	l, names := defaultLimits(), newDNSResolver()
	if total := names.total + l.connect.total; total >= 30*time.Second {
		t.Errorf("looking up and connecting may take %v", total)
	}
	if total := names.try + names.grace + l.answer; total >= 30*time.Second {
		t.Errorf("a silent host may take %v", total)
	}
	if last := (maxAddresses-1)*l.connect.stagger + l.connect.timeout; last > l.connect.total {
		t.Errorf("the last address has no time: %v of %v", last, l.connect.total)
	}
}

func TestFurtherClientsWaitForAFreePlace(t *testing.T) {
	l := quick()
	l.clients = 2
	r := newRig(t, l, nil)
	r.network.route(pubAddr+":443", serveConns(t, echo))
	first, second, third := r.tunnelTo(t, ""), r.tunnelTo(t, ""), r.connect(t)
	third.send(t, "CONNECT pub.test:443 HTTP/1.1\r\n\r\n")
	_ = third.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := third.in.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a third client was served beside two: %v", err)
	}
	_ = first.Close()
	_ = third.SetReadDeadline(time.Now().Add(5 * time.Second))
	if resp, _ := third.response(t, "CONNECT"); resp.StatusCode != http.StatusOK {
		t.Errorf("got %d once a place was free", resp.StatusCode)
	}
	_ = second.Close()
}
