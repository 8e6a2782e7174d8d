package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const benchBody = 16 << 20

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
	took   []time.Duration // by each response
}

// ask reads one response of size bytes and notes the time it took.
func (w *way) ask(size int64) error {
	began := time.Now()
	if _, err := fmt.Fprintf(w.conn, "GET %s/%d HTTP/1.1\r\nHost: app\r\n\r\n", w.target, size); err != nil {
		return err
	}
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = w.in.ReadString('\n'); err != nil {
			return err
		}
	}
	if n, err := io.CopyN(io.Discard, w.in, size); err != nil {
		return fmt.Errorf("after %d bytes of %d: %w", n, size, err)
	}
	w.took = append(w.took, time.Since(began))
	return nil
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

// inTurn asks by every way once for each round, each time beginning with another: what else the machine does, and who goes
// first, touches all of them alike.
func inTurn(b *testing.B, size int64) (relay, tunnel, plain *way) {
	b.Helper()
	relay, tunnel, plain = ways(b)
	all := []*way{relay, tunnel, plain}
	for _, w := range all { // what is made at the first use isn't measured
		if err := w.ask(size); err != nil {
			b.Fatal(err)
		}
		w.took = nil
	}
	for round := 0; b.Loop(); round++ {
		for i := range all {
			if err := all[(round+i)%len(all)].ask(size); err != nil {
				b.Fatal(err)
			}
		}
	}
	return relay, tunnel, plain
}

// median is that of the rounds of two ways, compared.
func median(one, other *way, compare func(one, other time.Duration) float64) float64 {
	rounds := make([]float64, 0, len(one.took))
	for i := range one.took {
		rounds = append(rounds, compare(one.took[i], other.took[i]))
	}
	slices.Sort(rounds)
	return rounds[len(rounds)/2]
}

// BenchmarkThroughput reports the proxy's throughput as ratios to a bare relay's (1 is as fast), the median of all rounds.
func BenchmarkThroughput(b *testing.B) {
	b.SetBytes(3 * benchBody)
	relay, tunnel, plain := inTurn(b, benchBody)
	ratio := func(one, other time.Duration) float64 { return float64(one) / float64(other) }
	b.ReportMetric(median(relay, tunnel, ratio), "tunnel/relay")
	b.ReportMetric(median(relay, plain, ratio), "plain/relay")
}

// BenchmarkLatency reports what the proxy adds to a small response through a bare relay, the median of all rounds in
// milliseconds.
func BenchmarkLatency(b *testing.B) {
	relay, tunnel, plain := inTurn(b, 100)
	added := func(one, other time.Duration) float64 { return float64(one-other) / float64(time.Millisecond) }
	b.ReportMetric(median(tunnel, relay, added), "tunnel-added-ms")
	b.ReportMetric(median(plain, relay, added), "plain-added-ms")
}

// BenchmarkRequests reports how many small requests eight connections at once carry in a second, beside a bare relay's.
func BenchmarkRequests(b *testing.B) {
	const connections, requests = 8, 50
	var crowd [3][]*way
	for range connections {
		relay, tunnel, plain := ways(b)
		for i, w := range []*way{relay, tunnel, plain} {
			crowd[i] = append(crowd[i], w)
		}
	}
	var total [3]way
	for round := 0; b.Loop(); round++ {
		for i := range crowd {
			i = (round + i) % len(crowd)
			began := time.Now()
			var asking sync.WaitGroup
			for _, w := range crowd[i] {
				asking.Go(func() {
					for range requests {
						if err := w.ask(100); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			asking.Wait()
			total[i].took = append(total[i].took, time.Since(began))
		}
	}
	relay, tunnel, plain := &total[0], &total[1], &total[2]
	ratio := func(one, other time.Duration) float64 { return float64(one) / float64(other) }
	rate := func(one, _ time.Duration) float64 { return connections * requests / one.Seconds() }
	b.ReportMetric(median(plain, plain, rate), "plain-requests/s")
	b.ReportMetric(median(relay, tunnel, ratio), "tunnel/relay")
	b.ReportMetric(median(relay, plain, ratio), "plain/relay")
}

// BenchmarkConnect reports how long a new tunnel takes, policy and all, to its first byte.
func BenchmarkConnect(b *testing.B) {
	r := newRig(b, defaultLimits(), nil)
	r.network.route(pubAddr+":443", serveConns(b, echo))
	for b.Loop() {
		if err := r.short(shortTunnel()); err != nil {
			b.Fatal(err)
		}
	}
}
