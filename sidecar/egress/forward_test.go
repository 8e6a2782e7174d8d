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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// get is a plain request for pub.test/path that keeps its connection.
func get(path string) string {
	return "GET http://pub.test" + path + " HTTP/1.1\r\nHost: pub.test\r\n\r\n"
}

func TestTheOriginGetsTheJudgedAuthority(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":8080", serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Proxy-Authenticate", "x")
		w.Header().Set("Keep-Alive", "timeout=1")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "x")
		w.Header()["X-Many"] = []string{"1", "2"}
		_, _ = fmt.Fprint(w, req.Host, " ", req.RequestURI, " ", len(req.Header))
	}))
	resp, body := r.ask(t, "GET http://PUB.test.:8080/p?q HTTP/1.1\r\nHost: 10.0.0.5\r\nProxy-Authorization: x\r\nConnection: X-Secret\r\nX-Secret: x\r\nUpgrade: websocket\r\nTE: trailers\r\n\r\n")
	if want := "pub.test:8080 /p?q 0"; body != want {
		t.Errorf("the origin got %q, want %q", body, want)
	}
	for _, name := range []string{"Proxy-Authenticate", "Keep-Alive", "X-Hop", "Connection"} {
		if got := resp.Header.Values(name); len(got) > 0 {
			t.Errorf("the client got %s: %v", name, got)
		}
	}
	if got := resp.Header.Values("X-Many"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("the client got X-Many: %v", got)
	}
	if dials := r.network.dials(); !slices.Equal(dials, []string{pubAddr + ":8080"}) {
		t.Errorf("dialled %v", dials)
	}
}

func TestAConnectionServesRequestsToSeveralAuthorities(t *testing.T) {
	r := newRig(t, quick(), nil)
	name := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }
	}
	r.network.route(pubAddr+":80", serveHTTP(t, name("80")))
	r.network.route(pubAddr+":81", serveHTTP(t, name("81")))
	c := r.connect(t)
	for _, port := range []string{"80", "80", "81", "80"} {
		c.send(t, "GET http://pub.test:"+port+"/ HTTP/1.1\r\nHost: pub.test:80\r\n\r\n")
		if resp, body := c.response(t, "GET"); resp.StatusCode != http.StatusOK || body != port {
			t.Errorf("port %s answered %d %q", port, resp.StatusCode, body)
		}
	}
	c.send(t, "GET http://10.0.0.5/ HTTP/1.1\r\nHost: pub.test\r\n\r\n")
	if resp, _ := c.response(t, "GET"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a later request to a private address got %d", resp.StatusCode)
	}
	if dials := r.network.dials(); len(dials) != 3 {
		t.Errorf("dialled %v: the second request should have used the first one's connection", dials)
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveHTTP(t, func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, req.URL.Path) }))
	c := r.connect(t)
	c.send(t, get("/1")+get("/2")+"GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n"+get("/4"))
	for _, want := range []string{"/1", "/2"} {
		if _, body := c.response(t, "GET"); body != want {
			t.Errorf("got %q, want %q", body, want)
		}
	}
	if resp, _ := c.response(t, "GET"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("the third got %d", resp.StatusCode)
	}
	c.ended(t)
}

func TestAnOriginThatHasHungUpIsDialledAgain(t *testing.T) {
	r := newRig(t, quick(), nil)
	closed := make(chan struct{}, 10)
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
		_ = conn.Close()
		closed <- struct{}{}
	}))
	c := r.connect(t)
	for range 3 {
		c.send(t, get("/"))
		if resp, body := c.response(t, "GET"); resp.StatusCode != http.StatusOK || body != "ok" {
			t.Fatalf("got %d %q", resp.StatusCode, body)
		}
		<-closed
	}
	if dials := r.network.dials(); len(dials) != 3 {
		t.Errorf("dialled %v, want three connections", dials)
	}
}

func TestAnOriginThatHangsUpOnASecondRequestClosesTheClient(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		in := bufio.NewReader(conn)
		if _, err := http.ReadRequest(in); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			_, _ = http.ReadRequest(in)
		}
	}))
	c := r.connect(t)
	c.send(t, get("/"))
	c.response(t, "GET")
	c.send(t, get("/"))
	c.ended(t)
}

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
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%q arrives as the whole body %q", answer, body)
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

func TestInterimResponsesPass(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		in := bufio.NewReader(conn)
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
			if req.Header.Get("Expect") != "" {
				_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
			}
			body, _ := io.ReadAll(req.Body)
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	}))
	c := r.connect(t)
	c.send(t, "POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	for _, want := range []int{103, 100} {
		if resp, err := http.ReadResponse(c.in, nil); err != nil || resp.StatusCode != want {
			t.Fatalf("got %v, %v; want %d", resp, err, want)
		}
	}
	c.send(t, "ok")
	if resp, body := c.response(t, "POST"); resp.StatusCode != http.StatusOK || body != "ok" {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
}

func TestOddResponses(t *testing.T) {
	for answer, want := range map[string]int{
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n": 502,
		strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxInterim+1):    502,
		"":                                     502,
		"nonsense\r\n\r\n":                     502,
		"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n": 502,
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxResponseHead) + "\r\n\r\n": 502,
		"HTTP/1.0 200 OK\r\n\r\nbody":                          200,
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n": 204,
	} {
		r := newRig(t, quick(), nil)
		r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, answer)
		}))
		c := r.connect(t)
		c.send(t, get("/"))
		var resp *http.Response
		for {
			resp, _ = c.response(t, "GET")
			if resp.StatusCode >= 200 {
				break
			}
		}
		if resp.StatusCode != want {
			t.Errorf("%.60q got %d, want %d", answer, resp.StatusCode, want)
		}
	}
}

func TestBodilessResponses(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", "5")
		if req.URL.Path == "/304" {
			w.WriteHeader(http.StatusNotModified)
		}
	}))
	c := r.connect(t)
	c.send(t, "HEAD http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n\r\n")
	if resp, body := c.response(t, "HEAD"); resp.ContentLength != 5 || body != "" {
		t.Errorf("HEAD got length %d and %q", resp.ContentLength, body)
	}
	c.send(t, get("/304"))
	if resp, body := c.response(t, "GET"); resp.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	c.send(t, "HEAD http://10.0.0.5/ HTTP/1.1\r\nHost: pub.test\r\n\r\n")
	if resp, body := c.response(t, "HEAD"); resp.StatusCode != http.StatusForbidden || body != "" {
		t.Errorf("a refused HEAD got %d %q", resp.StatusCode, body)
	}
	c.ended(t)
}

func TestAnOldClientGetsACloseDelimitedBody(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "chunked for others")
	}))
	c := r.connect(t)
	c.send(t, "GET http://pub.test/ HTTP/1.0\r\n\r\n")
	resp, body := c.response(t, "GET")
	if body != "chunked for others" || len(resp.TransferEncoding) > 0 || !resp.Close {
		t.Errorf("got %v %q", resp.Header, body)
	}
}

func TestAClientThatHasHalfClosedStillGetsItsResponse(t *testing.T) {
	r := newRig(t, quick(), nil)
	heard := make(chan struct{})
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		<-heard
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}))
	c := r.connect(t)
	c.send(t, get("/"))
	_ = c.CloseWrite()
	close(heard)
	if resp, body := c.response(t, "GET"); resp.StatusCode != http.StatusOK || body != "ok" {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	c.ended(t)
}

func TestAClientThatHasGoneEndsItsUpstream(t *testing.T) {
	r := newRig(t, quick(), nil)
	asked, ended := make(chan struct{}), make(chan error, 1)
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		in := bufio.NewReader(conn)
		_, _ = http.ReadRequest(in)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		close(asked)
		_, err := in.ReadByte()
		ended <- err
	}))
	c := r.connect(t)
	c.send(t, get("/"))
	<-asked
	_ = c.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the origin was sent another byte")
		}
	case <-time.After(5 * time.Second):
		t.Error("the origin still waits for a client that has gone")
	}
}
