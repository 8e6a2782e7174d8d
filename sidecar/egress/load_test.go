package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A short is a request for a byte and what comes back for it, x being the byte.
type short struct{ ask, want string }

func shortTunnel() short {
	return short{"CONNECT pub.test:443 HTTP/1.1\r\n\r\nx", "HTTP/1.1 200 Connection Established\r\n\r\nx"}
}

func shortPlain() short { return short{get("/"), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"} }

func TestManyShortConnectionsLeaveNothingOpen(t *testing.T) {
	connections := 10_000
	if testing.Short() {
		connections = 500
	}
	r := newRig(t, defaultLimits(), nil)
	r.network.route(pubAddr+":443", serveConns(t, echo))
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
		}
	}))
	before, running := sockets(t), runtime.NumGoroutine()
	work := make(chan int, connections)
	for i := range connections {
		work <- i
	}
	close(work)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for i := range work {
				if err := r.short([]short{shortTunnel(), shortPlain()}[i%2]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for range 500 {
		if sockets(t) <= before && runtime.NumGoroutine() <= running {
			break
		}
		<-poll.C
	}
	if after := sockets(t); after > before {
		t.Errorf("%d sockets before, %d after", before, after)
	}
	if after := runtime.NumGoroutine(); after > running {
		t.Errorf("%d goroutines before, %d after", running, after)
	}
}

// short makes a connection for one request and closes it.
func (r *rig) short(s short) error {
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, s.ask); err != nil {
		return err
	}
	got := make([]byte, len(s.want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != s.want {
		return errors.New("got " + string(got))
	}
	return nil
}

// sockets counts this process's open ones. (Pipes for splicing stay in a pool of the net package for a while.)
func sockets(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			count++
		}
	}
	return count
}

func TestTwoHundredDownloadsAtOnce(t *testing.T) {
	payload := bytes.Repeat([]byte("x"), 256<<10)
	r := newRig(t, defaultLimits(), nil)
	r.network.route(pubAddr+":443", serveConns(t, func(conn *net.TCPConn) {
		_, _ = conn.Write(payload)
	}))
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(payload), payload)
		}
	}))
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", r.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			_, _ = io.WriteString(conn, []string{
				"CONNECT pub.test:443 HTTP/1.1\r\n\r\n", "GET http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\nConnection: close\r\n\r\n",
			}[i%2])
			got, err := io.ReadAll(conn)
			if _, body, _ := bytes.Cut(got, []byte("\r\n\r\n")); err != nil || !bytes.Equal(body, payload) {
				t.Errorf("%d bytes, %v", len(body), err)
			}
		})
	}
	clients.Wait()
}

// pour writes a unit so many times. Once the other side has stalled it, it says how many bytes had gone by then, and goes on.
func pour(conn net.Conn, unit []byte, times int, stalled chan<- int64) error {
	var gone int64
	told := false
	for range times {
		for rest := unit; len(rest) > 0; {
			if !told {
				_ = conn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
			}
			n, err := conn.Write(rest)
			gone, rest = gone+int64(n), rest[n:]
			switch {
			case !told && errors.Is(err, os.ErrDeadlineExceeded):
				told = true
				stalled <- gone
				_ = conn.SetWriteDeadline(time.Time{})
			case err != nil:
				return err
			}
		}
	}
	if !told {
		stalled <- gone
	}
	return nil
}

func TestAStalledReaderHoldsTheSenderBack(t *testing.T) {
	const units, size = 4096, 64 << 10 // 256 MiB, of which buffers of the kernel's take a part
	plain := make([]byte, size)
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", size, plain)
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", units*size)
	const coded = "Transfer-Encoding: chunked\r\n\r\n"
	for name, row := range map[string]struct {
		ask, answer string // what goes before the bytes, either way
		unit        []byte
		up          bool
	}{
		"down a tunnel":      {"CONNECT pub.test:80 HTTP/1.1\r\n\r\n", "", plain, false},
		"down by a length":   {get("/"), "HTTP/1.1 200 OK\r\n" + length, plain, false},
		"down in chunks":     {get("/"), "HTTP/1.1 200 OK\r\n" + coded, chunk, false},
		"down until a close": {get("/"), "HTTP/1.1 200 OK\r\n\r\n", plain, false},
		"up a tunnel":        {"CONNECT pub.test:80 HTTP/1.1\r\n\r\n", "", plain, true},
		"up by a length":     {"POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n" + length, "", plain, true},
		"up in chunks":       {"POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n" + coded, "", chunk, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, defaultLimits(), nil)
			far := make(chan *net.TCPConn, 1)
			ended := make(chan struct{})
			defer close(ended)
			r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
				far <- conn
				<-ended
			}))
			c := r.connect(t)
			c.send(t, row.ask)
			origin := <-far
			_ = origin.SetDeadline(time.Now().Add(time.Minute))
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(origin, row.answer); err != nil {
				t.Fatal(err)
			}
			sender, receiver := net.Conn(origin), net.Conn(c.TCPConn)
			if row.up {
				sender, receiver = receiver, sender
			}
			before := heap()
			stalled, poured := make(chan int64, 1), make(chan error, 1)
			go func() {
				poured <- pour(sender, row.unit, units, stalled)
			}()
			if gone := <-stalled; gone >= units*size/2 {
				t.Errorf("%d bytes went to a reader that reads nothing", gone)
			}
			if after := heap(); after > before+4<<20 {
				t.Errorf("%d bytes of heap before, %d while the reader stalls", before, after)
			}
			if n, err := io.CopyN(io.Discard, receiver, units*size); err != nil { // the rest is heads and chunk lines
				t.Errorf("%d bytes came, %v", n, err)
			}
			if err := <-poured; err != nil {
				t.Error(err)
			}
		})
	}
}

// heap is the memory that is in use, in bytes.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
