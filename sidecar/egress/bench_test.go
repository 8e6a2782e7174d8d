package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

const benchBody = 32 << 20

// benchOrigin answers each request line "GET …/n …" with n bytes.
func benchOrigin(b *testing.B) string {
	chunk := make([]byte, 256<<10)
	return serveConns(b, func(conn *net.TCPConn) {
		in := bufio.NewReader(conn)
		for {
			var size int64
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if path, ok := strings.CutPrefix(line, "GET "); ok {
					path, _, _ = strings.Cut(path, " ")
					_, _ = fmt.Sscan(path[strings.LastIndex(path, "/")+1:], &size)
				}
				if line == "\r\n" {
					break
				}
			}
			first := min(size, 1<<10)
			_, _ = conn.Write(append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size), chunk[:first]...))
			for left := size - first; left > 0; {
				n, err := conn.Write(chunk[:min(left, int64(len(chunk)))])
				if err != nil {
					return
				}
				left -= int64(n)
			}
		}
	})
}

// bareRelay is what a proxy can't be faster than: bytes from one socket to another, both ways.
func bareRelay(b *testing.B, to string) string {
	return serveConns(b, func(conn *net.TCPConn) {
		far, err := net.Dial("tcp", to)
		if err != nil {
			b.Error(err)
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(far, conn)
			_ = far.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(conn, far)
		_ = far.Close()
		<-done
	})
}

// A way is a connection to the origin and the target that it asks for.
type way struct {
	conn   net.Conn
	in     *bufio.Reader
	target string
	spent  time.Duration
	best   time.Duration // of one response
}

// ask reads one response of size bytes and adds up the time it took.
func (w *way) ask(b *testing.B, size int64) {
	b.Helper()
	began := time.Now()
	if _, err := fmt.Fprintf(w.conn, "GET %s/%d HTTP/1.1\r\nHost: app\r\n\r\n", w.target, size); err != nil {
		b.Fatal(err)
	}
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		if line == "\r\n" {
			break
		}
	}
	if n, err := io.CopyN(io.Discard, w.in, size); err != nil {
		b.Fatalf("%d bytes, %v", n, err)
	}
	took := time.Since(began)
	w.spent += took
	if w.best == 0 || took < w.best {
		w.best = took
	}
}

// ways opens a connection through a bare relay, one through a tunnel of the proxy, and one for plain requests to it.
func ways(b *testing.B) (relay, tunnel, plain *way) {
	app := benchOrigin(b)
	r := newRig(b, defaultLimits(), func(o *Options) { o.App, o.Dial = &url.URL{Scheme: "http", Host: app}, nil })
	open := func(address, target string) *way {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
		return &way{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), target: target}
	}
	relay, tunnel, plain = open(bareRelay(b, app), ""), open(r.Addr(), ""), open(r.Addr(), "http://"+app)
	if _, err := fmt.Fprintf(tunnel.conn, "CONNECT %s HTTP/1.1\r\n\r\n", app); err != nil {
		b.Fatal(err)
	}
	for range 2 {
		if line, err := tunnel.in.ReadString('\n'); err != nil || strings.Contains(line, " 4") {
			b.Fatalf("CONNECT got %q, %v", line, err)
		}
	}
	return relay, tunnel, plain
}

// BenchmarkThroughput reports the proxy's throughput as ratios to a bare relay's (1 is as fast): of the best times, since
// what else the machine does only slows down, and taken in turn.
func BenchmarkThroughput(b *testing.B) {
	relay, tunnel, plain := ways(b)
	b.SetBytes(3 * benchBody)
	for b.Loop() {
		for _, w := range []*way{relay, tunnel, plain} {
			w.ask(b, benchBody)
		}
	}
	b.ReportMetric(float64(relay.best)/float64(tunnel.best), "tunnel/relay")
	b.ReportMetric(float64(relay.best)/float64(plain.best), "plain/relay")
}

// BenchmarkLatency reports what the proxy adds to a small response through a bare relay, in microseconds.
func BenchmarkLatency(b *testing.B) {
	relay, tunnel, plain := ways(b)
	for b.Loop() {
		relay.ask(b, 100)
		tunnel.ask(b, 100)
		plain.ask(b, 100)
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(each(relay.spent), "relay-µs")
	b.ReportMetric(each(tunnel.spent-relay.spent), "tunnel-added-µs")
	b.ReportMetric(each(plain.spent-relay.spent), "plain-added-µs")
}

// BenchmarkConnect reports how long a new tunnel takes, policy and all, to its first byte.
func BenchmarkConnect(b *testing.B) {
	r := newRig(b, defaultLimits(), nil)
	r.network.route(pubAddr+":443", serveConns(b, echo))
	for b.Loop() {
		if err := r.short(); err != nil {
			b.Fatal(err)
		}
	}
}
