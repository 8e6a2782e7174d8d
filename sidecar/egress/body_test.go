package egress

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestFiftyMebibytesArriveWhole(t *testing.T) {
	const size = 50 << 20
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	sum := sha256.New()
	for range size / len(noise) {
		sum.Write(noise)
	}
	want := sum.Sum(nil)
	r := newRig(t, defaultLimits(), nil)
	r.network.route(pubAddr+":80", serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			sum := sha256.New()
			n, err := io.Copy(sum, req.Body)
			_, _ = fmt.Fprintf(w, "%d %x %v", n, sum.Sum(nil), err)
			return
		}
		if req.URL.Path == "/sized" {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		for range size / len(noise) {
			if _, err := w.Write(noise); err != nil {
				return
			}
		}
	}))
	client := r.httpClient(t)
	for _, path := range []string{"/sized", "/chunked"} {
		resp, err := client.Get("http://pub.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		n, err := io.Copy(sum, resp.Body)
		_ = resp.Body.Close()
		if err != nil || n != size || !bytes.Equal(sum.Sum(nil), want) {
			t.Errorf("%s: %d bytes, %v; want %d whole", path, n, err, size)
		}
	}
	for _, length := range []int64{size, -1} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pub.test/", io.LimitReader(endless{noise}.reader(), size))
		req.ContentLength = length
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if text := fmt.Sprintf("%d %x <nil>", size, want); string(body) != text {
			t.Errorf("an upload of length %d arrived as %s, want %s", length, body, text)
		}
	}
}

// endless repeats its bytes.
type endless struct{ b []byte }

func (e endless) reader() io.Reader {
	var at int
	return readerFunc(func(p []byte) (int, error) {
		n := copy(p, e.b[at:])
		at = (at + n) % len(e.b)
		return n, nil
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAStreamArrivesAsItIsSent(t *testing.T) {
	step := make(chan struct{})
	defer close(step)
	for _, head := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\n",
	} {
		r := newRig(t, defaultLimits(), nil)
		r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, head)
			for i := range 3 {
				<-step
				event := fmt.Sprintf("data: %d\n\n\n\n", i)
				if strings.Contains(head, "chunked") {
					event = fmt.Sprintf("%x\r\n%s\r\n", len(event), event)
				}
				_, _ = io.WriteString(conn, event)
			}
			<-step
			if strings.Contains(head, "chunked") {
				_, _ = io.WriteString(conn, "0\r\nTrailer: dropped\r\n\r\n")
			}
		}))
		c := r.connect(t)
		c.send(t, get("/"))
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 { // each part must come before the next is sent
			step <- struct{}{}
			want := fmt.Sprintf("data: %d\n\n\n\n", i)
			got := make([]byte, len(want))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
				t.Fatalf("%q: got %q, %v; want %q", head, got, err, want)
			}
		}
		step <- struct{}{}
		if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
			t.Errorf("%q: the end is %q, %v", head, rest, err)
		}
	}
}

func TestABodyThatBreaksOffIsSeenToBreakOff(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc",
	} {
		r := newRig(t, quick(), nil)
		r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, answer)
		}))
		c := r.connect(t)
		c.send(t, get("/"))
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if body, err := io.ReadAll(resp.Body); err == nil || time.Since(began) > 3*time.Second {
			t.Errorf("%q arrives as %q, %v, after %v", answer, body, err, time.Since(began))
		}
	}
}

func TestOnlyOneReadingOfARequestsBody(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: pub.test\r\n\r\n"
	for _, body := range []string{
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n0\n\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\nx\r\n0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n1;a=\rb\nx\r\n0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n" + hidden,
		"Content-Length: 5\r\n\r\nx",
		"Transfer-Encoding: chunked\r\n\r\n1\r\nx", // and then silence: the client has half-closed
	} {
		var answered atomic.Int32
		r := newRig(t, quick(), nil)
		r.network.route(pubAddr+":80", serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) {
			if _, err := io.Copy(io.Discard, req.Body); err == nil {
				answered.Add(1)
			}
		}))
		c := r.connect(t)
		c.send(t, "POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n"+body)
		_ = c.CloseWrite()
		began := time.Now()
		if resp, _ := c.response(t, "POST"); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%q got %d, want 400", body, resp.StatusCode)
		}
		c.ended(t)
		if n := answered.Load(); n != 0 || time.Since(began) > 3*time.Second {
			t.Errorf("%q: the origin served %d requests; it took %v", body, n, time.Since(began))
		}
	}
}

func TestAChunkedUploadKeepsItsConnection(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		_, _ = fmt.Fprintf(w, "%s %v %v", body, req.TransferEncoding, req.Trailer)
	}))
	c := r.connect(t)
	for range 2 {
		c.send(t, "POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n1;ext=1\r\na\r\n2\r\nbc\r\n0\r\nX: dropped\r\n\r\n")
		if _, body := c.response(t, "POST"); body != "abc [chunked] map[]" {
			t.Errorf("the origin got %q", body)
		}
	}
	if dials := r.network.dials(); len(dials) != 1 {
		t.Errorf("dialled %v", dials)
	}
}

func TestAnOriginMayAnswerBeforeItHasHeardAll(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
		_, _ = io.Copy(io.Discard, conn)
	}))
	for _, framing := range []string{"Content-Length: 1000000", "Transfer-Encoding: chunked"} {
		c := r.connect(t)
		c.send(t, "POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n"+framing+"\r\n\r\n")
		if resp, body := c.response(t, "POST"); resp.StatusCode != http.StatusRequestEntityTooLarge || body != "big" {
			t.Errorf("%s: got %d %q, want the 413", framing, resp.StatusCode, body)
		}
		c.ended(t)
	}
}
