package canary

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var (
	loopback4 = netip.MustParseAddr("127.0.0.1")
	loopback6 = netip.MustParseAddr("::1")
)

func start(t *testing.T, opts Options, addrs ...netip.Addr) *Canary {
	t.Helper()
	c, err := Start(t.Context(), addrs, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func dial(t *testing.T, l Listener) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout(transport(l.Network), l.Addr.String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// eventually polls until the hits are as wanted.
func eventually(t *testing.T, c *Canary, what string, good func([]Hit) bool) []Hit {
	t.Helper()
	NewWithT(t).Eventually(c.Hits, "5s", "2ms").Should(Satisfy(good), what)
	return c.Hits()
}

func TestAConnectionWithoutAByteIsAHit(t *testing.T) {
	for _, addr := range []netip.Addr{loopback4, loopback6} {
		c := start(t, Options{TCPPorts: []uint16{0}}, addr)
		l := c.Listeners()[0]
		conn := dial(t, l)
		hit := eventually(t, c, "one hit", func(hits []Hit) bool { return len(hits) == 1 })[0]
		if hit.Network != TCP || hit.Local != l.Addr || hit.Remote.String() != conn.LocalAddr().String() {
			t.Errorf("got %+v, want %s from %s", hit, l, conn.LocalAddr())
		}
		if hit.Time.IsZero() || time.Since(hit.Time) > time.Minute || len(hit.FirstBytes) != 0 || hit.Probe {
			t.Errorf("got %+v, want a time, no bytes and no probe", hit)
		}
	}
}

func TestFirstBytesAreKeptUpToOneKiB(t *testing.T) {
	c := start(t, Options{TCPPorts: []uint16{0}}, loopback4)
	conn := dial(t, c.Listeners()[0])
	if _, err := io.WriteString(conn, "\x16\x03"); err != nil {
		t.Fatal(err)
	}
	eventually(t, c, "the bytes so far", func(hits []Hit) bool { return len(hits) == 1 && string(hits[0].FirstBytes) == "\x16\x03" })
	if _, err := io.WriteString(conn, strings.Repeat("x", 4000)); err != nil {
		t.Fatal(err)
	}
	hits := eventually(t, c, "1 KiB", func(hits []Hit) bool { return len(hits[0].FirstBytes) == 1024 })
	if hits[0].RequestLine != "" {
		t.Errorf("got the request line %q, want none", hits[0].RequestLine)
	}
}

func TestAPageCanReadTheCanary(t *testing.T) {
	c := start(t, Options{TCPPorts: []uint16{0}}, loopback4)
	l := c.Listeners()[0]
	client := &http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr.String()+"/secret?way=form",
		strings.NewReader(strings.Repeat("b", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "canary "+l.Addr.String() {
		t.Errorf("got %q and %v, want the canary's name", body, err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("got %s with %v, want 200 that any origin may read", response.Status, response.Header)
	}
	if hits := c.Hits(); len(hits) != 1 || hits[0].RequestLine != "POST /secret?way=form HTTP/1.1" {
		t.Errorf("got %v, want the request line", hits)
	}
}

func TestAClientThatSendsMoreStillGetsTheAnswer(t *testing.T) {
	c := start(t, Options{TCPPorts: []uint16{0}}, loopback4)
	conn := dial(t, c.Listeners()[0])
	body := strings.Repeat("b", 8<<20) // more than the kernel holds
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nContent-Length: 8388608\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), "canary "+c.Listeners()[0].Addr.String()) {
		t.Errorf("got %q and %v, want the answer and an orderly end", answer, err)
	}
}

func TestTLSHits(t *testing.T) {
	c := start(t, Options{TLSPorts: []uint16{0}, TLS: &tls.Config{Certificates: []tls.Certificate{certificate(t)}}}, loopback4)
	l := c.Listeners()[0]

	secured := tls.Client(dial(t, l), &tls.Config{InsecureSkipVerify: true, ServerName: "leak.test", NextProtos: []string{"h2", "http/1.1"}})
	if _, err := io.WriteString(secured, "GET /tls HTTP/1.1\r\nHost: leak.test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(secured), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := secured.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("negotiated %q, want http/1.1", got)
	}
	hit := c.Hits()[0]
	if hit.Network != TLS || hit.SNI != "leak.test" || hit.RequestLine != "GET /tls HTTP/1.1" {
		t.Errorf("got %+v, want the request under TLS", hit)
	}

	distrusting := tls.Client(dial(t, l), &tls.Config{ServerName: "distrusting.test"})
	if err := distrusting.HandshakeContext(t.Context()); err == nil {
		t.Fatal("an unknown authority is trusted")
	}
	hits := eventually(t, c, "the failed handshake", func(hits []Hit) bool { return len(hits) == 2 && hits[1].SNI != "" })
	if hits[1].SNI != "distrusting.test" || len(hits[1].FirstBytes) == 0 {
		t.Errorf("got %+v, want the name and the raw bytes of the failed handshake", hits[1])
	}

	if _, err := io.WriteString(dial(t, l), "GET /plain HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	hits = eventually(t, c, "the plain request", func(hits []Hit) bool { return len(hits) == 3 && len(hits[2].FirstBytes) > 0 })
	if !strings.HasPrefix(string(hits[2].FirstBytes), "GET /") {
		t.Errorf("got %q, want the plain bytes", hits[2].FirstBytes)
	}
}

func TestDatagramsAreHitsAndGetNoAnswer(t *testing.T) {
	c := start(t, Options{UDPPorts: []uint16{0}}, loopback6)
	conn := dial(t, c.Listeners()[0])
	if _, err := io.WriteString(conn, "stun"); err != nil {
		t.Fatal(err)
	}
	hit := eventually(t, c, "one hit", func(hits []Hit) bool { return len(hits) == 1 })[0]
	if hit.Network != UDP || string(hit.FirstBytes) != "stun" || hit.Remote.String() != conn.LocalAddr().String() {
		t.Errorf("got %+v, want the datagram", hit)
	}
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %d bytes and %v, want silence", n, err)
	}
}

func TestProbesAnswerAndAreHidden(t *testing.T) {
	opts := Options{
		TCPPorts: []uint16{0, 0}, TLSPorts: []uint16{0}, UDPPorts: []uint16{0},
		TLS: &tls.Config{Certificates: []tls.Certificate{certificate(t)}},
	}
	c := start(t, opts, loopback4, loopback6, netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("::ffff:127.0.0.2"))
	if got, want := len(c.Listeners()), 3*4; got != want {
		t.Fatalf("got %d listeners, want %d: an address is listened on once", got, want)
	}
	if err := c.ProbeAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hits := c.Hits(); len(hits) != 0 {
		t.Errorf("probes are among the hits: %v", hits)
	}
	all := c.All()
	if len(all) != len(c.Listeners()) {
		t.Errorf("got %d hits of probes, want %d", len(all), len(c.Listeners()))
	}
	for _, hit := range all {
		if !hit.Probe {
			t.Errorf("not tagged as a probe: %v", hit)
		}
	}
	if len(c.probes) != 0 {
		t.Errorf("%d probes are still expected", len(c.probes))
	}
	nowhere := netip.AddrPortFrom(loopback4, 1)
	if err := c.Probe(t.Context(), nowhere); err == nil || !strings.Contains(err.Error(), nowhere.String()) {
		t.Errorf("probing nowhere: got %v, want an error that names it", err)
	}
}

func TestAProbeIsABarrier(t *testing.T) {
	c := start(t, Options{TCPPorts: []uint16{0}}, loopback4)
	l := c.Listeners()[0]
	for i := range 50 {
		mark := c.Mark()
		conn := dial(t, l)
		if err := c.Probe(t.Context(), l.Addr); err != nil {
			t.Fatal(err)
		}
		if hits := c.HitsSince(mark); len(hits) != 1 {
			t.Fatalf("round %d: got %d hits after the probe, want the one before it", i, len(hits))
		}
		_ = conn.Close()
	}
}

func TestAProbeOfADeadCanaryFails(t *testing.T) {
	c, err := Start(t.Context(), []netip.Addr{loopback4}, Options{TCPPorts: []uint16{0}, UDPPorts: []uint16{0}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = c.ProbeAll(ctx)
	for _, l := range c.Listeners() {
		if err == nil || !strings.Contains(err.Error(), l.String()) {
			t.Errorf("got %v, want it to name %s", err, l)
		}
	}
	if len(c.probes) != 0 {
		t.Errorf("%d probes are still expected", len(c.probes))
	}
}

func TestCloseDropsWhatIsConnected(t *testing.T) {
	c, err := Start(t.Context(), []netip.Addr{loopback4}, Options{TCPPorts: []uint16{0}})
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, c.Listeners()[0])
	eventually(t, c, "one hit", func(hits []Hit) bool { return len(hits) == 1 })
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("Close took %s: it waits for a silent client", took)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want the end of the connection", err)
	}
	if len(c.Hits()) != 1 {
		t.Error("the hits can't be read after Close")
	}
}

func TestMarksAndAddresses(t *testing.T) {
	other := netip.MustParseAddr("127.0.0.3")
	c := start(t, Options{TCPPorts: []uint16{0}}, loopback4, other)
	dial(t, c.Listeners()[0])
	eventually(t, c, "one hit", func(hits []Hit) bool { return len(hits) == 1 })
	mark := c.Mark()
	dial(t, c.Listeners()[1])
	eventually(t, c, "two hits", func(hits []Hit) bool { return len(hits) == 2 })

	if hits := c.HitsSince(mark); len(hits) != 1 || hits[0].Local.Addr() != other {
		t.Errorf("since the mark: got %v, want the hit at %s", hits, other)
	}
	if hits := c.HitsSince(1000); len(hits) != 0 {
		t.Errorf("since a mark to come: got %v", hits)
	}
	if hits := c.HitsAt(netip.MustParseAddr("::ffff:127.0.0.3")); len(hits) != 1 {
		t.Errorf("at the mapped address: got %v, want one", hits)
	}
	if hits := c.HitsAt(loopback6); len(hits) != 0 {
		t.Errorf("at an address without listener: got %v", hits)
	}
}

func TestManyListenersAtOnce(t *testing.T) {
	var addrs []netip.Addr
	for i := range 150 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}))
	}
	c := start(t, Options{TCPPorts: []uint16{0}, UDPPorts: []uint16{0}}, addrs...)
	if err := c.ProbeAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for _, l := range c.Listeners() {
		clients.Go(func() {
			if conn, err := net.Dial(transport(l.Network), l.Addr.String()); err == nil {
				_, _ = conn.Write([]byte("x"))
				_ = conn.Close()
			}
		})
	}
	clients.Wait()
	eventually(t, c, "300 hits", func(hits []Hit) bool { return len(hits) == 300 })
}

func TestBadInputIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := uint16(taken.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct {
		addrs []netip.Addr
		opts  Options
		want  string
	}{
		{nil, Options{TCPPorts: []uint16{0}}, "addresses: none given"},
		{[]netip.Addr{loopback4, {}}, Options{TCPPorts: []uint16{0}}, "addresses[1]: is the zero value"},
		{[]netip.Addr{loopback4}, Options{}, "ports: none given"},
		{[]netip.Addr{loopback4}, Options{TLSPorts: []uint16{0}}, "TLS: has no certificate"},
		{[]netip.Addr{loopback4}, Options{TLSPorts: []uint16{0}, TLS: &tls.Config{}}, "TLS: has no certificate"},
		{[]netip.Addr{loopback6, loopback4}, Options{TCPPorts: []uint16{0, port}}, "listening on tcp " + taken.Addr().String()},
	} {
		canary, err := Start(t.Context(), c.addrs, c.opts)
		if err == nil {
			_ = canary.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", err, c.want)
		}
	}
}

func FuzzRequestLine(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT a:1 HTTP/1.1\n", "GET /\n", " / HTTP/1.1\n", "get / HTTP/1.1\n", "\n", "",
		"\x16\x03\x01\x02\x00\n", "GET  HTTP/1.1\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, first []byte) {
		line := requestLine(first)
		if line != "" && (!strings.HasPrefix(string(first), line) || strings.ContainsAny(line, "\n")) {
			t.Errorf("got %q of %q", line, first)
		}
	})
}

// certificate signs for itself.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"leak.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
