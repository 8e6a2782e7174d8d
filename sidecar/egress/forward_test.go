package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
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

func TestAClientThatAsksForItGetsItsConnectionClosed(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	for _, request := range []string{
		"GET http://pub.test/ HTTP/1.1\r\nHost: x\r\nConnection: x, Close\r\n\r\n",
		"GET http://pub.test/ HTTP/1.1\r\nHost: x\r\nProxy-Connection: close\r\n\r\n",
		"GET http://pub.test/ HTTP/1.0\r\n\r\n",
	} {
		c := r.connect(t)
		c.send(t, request)
		began := time.Now()
		if resp, body := c.response(t, "GET"); !resp.Close || body != "ok" {
			t.Errorf("%q got %v %q", request, resp.Header, body)
		}
		c.ended(t)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%q held the connection for %v", request, took)
		}
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
