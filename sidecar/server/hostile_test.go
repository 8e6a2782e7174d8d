package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSmuggling sends requests that two servers in a row could read differently, each with a second one hidden behind.
func TestSmuggling(t *testing.T) {
	r := start(t, DefaultLimits())
	const post = "POST /mcp HTTP/1.1\n$HOST\n$AUTH\n"
	const hidden = "POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 6\n\nhidden"
	te := post + "Transfer-Encoding: chunked\n"
	for _, tc := range []struct {
		name, request string
		status        int
	}{
		{"length and chunked", post + "Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n", 400},
		{"chunked and length", post + "Transfer-Encoding: chunked\nContent-Length: 5\n\n0\n\n", 400},
		{"two lengths", post + "Content-Length: 5\nContent-Length: 6\n\nabcde", 400},
		{"two equal lengths", post + "Content-Length: 5\nContent-Length: 5\n\nabcde", 400},
		{"lengths in a list", post + "Content-Length: 5, 5\n\nabcde", 400},
		{"signed length", post + "Content-Length: +5\n\nabcde", 400},
		{"negative length", post + "Content-Length: -5\n\n", 400},
		{"empty length", post + "Content-Length:\n\n", 400},
		{"hex length", post + "Content-Length: 0x5\n\nabcde", 400},
		{"overflowing length", post + "Content-Length: 9223372036854775808\n\n", 400},
		{"two codings", post + "Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n0\n\n", 400},
		{"two codings in one", post + "Transfer-Encoding: chunked, chunked\n\n0\n\n", 501},
		{"unknown coding", post + "Transfer-Encoding: xchunked\n\n0\n\n", 501},
		{"identity", post + "Transfer-Encoding: identity\n\n", 501},
		{"coding with a tab", post + "Transfer-Encoding:\tchunked\x0b\n\n0\n\n", 400},
		{"coding in HTTP/1.0", "POST /mcp HTTP/1.0\n$HOST\n$AUTH\nConnection: keep-alive\nTransfer-Encoding: chunked\n\n0\n\n", 400},
		{"blank before the colon", post + "Content-Length : 5\n\nabcde", 400},
		{"folded line", post + "X: a\n b\nContent-Length: 0\n\n", 400},
		{"folded first line", "POST /mcp HTTP/1.1\n X: a\n$HOST\n$AUTH\n\n", 400},
		{"framing trailer", te + "Trailer: Content-Length\n\n0\nContent-Length: 3\n\n", 400},
		{"line feed after a chunk's size", te + "\n5\x00abcde\n0\n\n", 400},
		{"return in an extension", te + "\n5;a\rb\nabcde\n0\n\n", 400},
		{"sign before a size", te + "\n+5\nabcde\n0\n\n", 400},
		{"0x before a size", te + "\n0x5\nabcde\n0\n\n", 400},
		{"size of 2^64", te + "\n10000000000000000\nabcde\n0\n\n", 400},
		{"no size", te + "\n\nabcde\n0\n\n", 400},
		{"chunk longer than its size", te + "\n3\nabcde\n0\n\n", 400},
		{"size not a number", te + "\nxyz\nabcde\n0\n\n", 400},
		{"broken chunk for a path without a body", "GET /health HTTP/1.1\n$HOST\n$AUTH\nTransfer-Encoding: chunked\n\nxyz\n", 400},
		{"bare line feeds", "POST /mcp HTTP/1.1\x00$HOST\x00$AUTH\x00\x00", 400},
		{"bare line feed at the end", post + "X: y\x00\n", 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// \x00 stands for a line feed alone, as fill turns the others into CR LF.
			raw := strings.ReplaceAll(r.fill(tc.request), "\x00", "\n") + r.fill(hidden)
			c := r.dial().send(raw)
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			res, body := c.answer()
			wantError(t, res, body, tc.status)
			if !res.Close {
				t.Error("the connection stays open")
			}
			c.closed()
		})
	}
	if got := r.reached(); len(got) > 0 {
		t.Errorf("requests got through: %q", got)
	}
	r.alive()
}

// TestAChunkedBodyEndsTheConnection is the positive control of TestSmuggling: the same form, unbroken, is served; what
// stands behind it is not.
func TestAChunkedBodyEndsTheConnection(t *testing.T) {
	r := start(t, DefaultLimits())
	c := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nTransfer-Encoding: Chunked\nTrailer: X\n\n3;a=b\nabc\n2\nde\n0\nX: y\n\n" +
		"POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 6\n\nhidden"))
	if res, body := c.answer(); body != `{"got":"abcde"}` || !res.Close {
		t.Fatalf("got %s, close: %v", body, res.Close)
	}
	if rest, _ := io.ReadAll(c.in); len(rest) > 0 {
		t.Errorf("more was answered: %q", rest)
	}
	if got := r.reached(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestHostileBytesStopNothing(t *testing.T) {
	r := start(t, DefaultLimits())
	auth := "\n$HOST\n$AUTH\n\n"
	for _, tc := range []struct {
		name, raw string
		status    int // 0: closed without an answer
	}{
		{"an authority alone", "GET http:// HTTP/1.1" + auth, 400},
		{"no slash", "GET health HTTP/1.1" + auth, 400},
		{"a star for GET", "GET * HTTP/1.1" + auth, 400},
		{"a bad escape", "GET /%zz HTTP/1.1" + auth, 400},
		{"a fragment", "GET /health#x HTTP/1.1" + auth, 400},
		{"NUL in the target", "GET /\x00 HTTP/1.1" + auth, 400},
		{"NUL in a header", "GET / HTTP/1.1\nX: \x00" + auth, 400},
		{"DEL in a header", "GET / HTTP/1.1\nX: \x7f" + auth, 400},
		{"not ASCII in the target", "GET /é HTTP/1.1" + auth, 400},
		{"CONNECT with a path", "CONNECT /health HTTP/1.1" + auth, 400},
		{"CONNECT to nothing", "CONNECT : HTTP/1.1" + auth, 403},
		{"a long target", "GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1" + auth, 431},
		{"a long header", "GET / HTTP/1.1\nX: " + strings.Repeat("a", 64<<10) + auth, 431},
		{"many headers", "GET / HTTP/1.1\n" + strings.Repeat("X: a\n", 200) + "$HOST\n$AUTH\n\n", 431},
		{"two blanks", "GET  / HTTP/1.1" + auth, 400},
		{"no version", "GET /\n\n", 400},
		{"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\n\nSM\n\n", 505},
		{"HTTP/0.9 by number", "GET / HTTP/0.9" + auth, 505},
		{"a version that is none", "GET / HTTX/1.1" + auth, 400},
		{"a lower-case version", "GET / http/1.1" + auth, 400},
		{"no colon", "GET / HTTP/1.1\nHost" + auth, 400},
		{"an empty name", "GET / HTTP/1.1\n: x" + auth, 400},
		{"a broken host", "GET / HTTP/1.1\nHost: a b\n$AUTH\n\n", 400},
		{"an expectation", "GET / HTTP/1.1\nExpect: tea" + auth, 417},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},
		{"noise", "\xff\xfe\xfd\n\n", 400},
		{"NULs", strings.Repeat("\x00", 100), 400},
		{"SSH", "SSH-2.0-x\n\n", 400},
		{"a line that ends too early", "GET / HT", 0},
		{"nothing", "", 0},
		{"empty lines", "\n\n\n\n", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := r.dial().send(r.fill(tc.raw))
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			if tc.status != 0 {
				res, body := c.answer()
				wantError(t, res, body, tc.status)
			}
			c.closed()
			r.alive()
		})
	}
}

// bodies of twenty MiB, sent whole before the answer is read.
func TestARefusedBodyGetsAReadableAnswer(t *testing.T) {
	r := start(t, DefaultLimits())
	const size = 20 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, tc := range []struct {
		name, head string
		status     int
		chunked    bool
	}{
		{"by length", "POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: %d\n\n", 413, false},
		{"chunked", "POST /mcp HTTP/1.1\n$HOST\n$AUTH\nTransfer-Encoding: chunked\n\n", 413, true},
		{"by length, to no path", "PUT /nothing HTTP/1.1\n$HOST\n$AUTH\nContent-Length: %d\n\n", 413, false},
		{"without a token", "POST /mcp HTTP/1.1\n$HOST\nContent-Length: %d\n\n", 401, false},
		{"without a token, chunked", "POST /mcp HTTP/1.1\n$HOST\nTransfer-Encoding: chunked\n\n", 401, true},
		{"with two hosts", "POST /mcp HTTP/1.1\n$HOST\n$HOST\nContent-Length: %d\n\n", 400, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			head := r.fill(tc.head)
			piece := strings.Repeat("a", 64<<10)
			if tc.chunked {
				piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
			} else {
				head = strings.Replace(head, "%d", fmt.Sprint(size), 1)
			}
			bytes := []byte(piece)
			c := r.dial().send(head)
			for range size / (64 << 10) {
				if _, err := c.Write(bytes); err != nil {
					t.Fatalf("sending: %v", err)
				}
			}
			if tc.chunked {
				c.send("0\r\n\r\n")
			}
			res, body := c.answer()
			wantError(t, res, body, tc.status)
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			c.closed()
			r.alive()
		})
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 3*size {
		t.Errorf("%d MiB were allocated for refused bodies", grown>>20)
	}
	if len(r.reached()) > 0 {
		t.Error("a refused body reached /mcp")
	}
}

func TestABodyOfTheLimitIsTaken(t *testing.T) {
	limits := DefaultLimits()
	limits.BodyBytes = 1000
	r := start(t, limits)
	for size, want := range map[int]int{1000: 200, 1001: 413} {
		res, _ := r.dial().send(r.fill(fmt.Sprintf("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: %d\n\n%s", size, strings.Repeat("a", size)))).answer()
		if res.StatusCode != want {
			t.Errorf("%d bytes: got %d, want %d", size, res.StatusCode, want)
		}
		res, _ = r.dial().send(r.fill(fmt.Sprintf("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nTransfer-Encoding: chunked\n\n%x\n%s\n0\n\n", size, strings.Repeat("a", size)))).answer()
		if res.StatusCode != want {
			t.Errorf("%d bytes, chunked: got %d, want %d", size, res.StatusCode, want)
		}
	}
}

func TestAnExpectedBodyIsAskedForOnlyWhenItIsWanted(t *testing.T) {
	r := start(t, DefaultLimits())
	c := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 3\nExpect: 100-continue\n\n"))
	if res, _ := c.answer(); res.StatusCode != http.StatusContinue {
		t.Fatalf("got %d, want 100", res.StatusCode)
	}
	if _, body := c.send("abc").answer(); body != `{"got":"abc"}` {
		t.Fatalf("got %s", body)
	}
	res, body := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\nContent-Length: 3\nExpect: 100-continue\n\n")).answer()
	wantError(t, res, body, http.StatusUnauthorized)
	res, body = r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 99999999\nExpect: 100-continue\n\n")).answer()
	wantError(t, res, body, http.StatusRequestEntityTooLarge)
}

// drip sends a byte every 50 ms until the connection no longer takes any, and returns how long that was.
func drip(c *client, text string) time.Duration {
	begin := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; time.Since(begin) < 8*time.Second; i++ {
		if _, err := io.WriteString(c, string(text[i%len(text)])); err != nil {
			break
		}
		<-tick.C
	}
	return time.Since(begin)
}

func TestSlowClientsAreCut(t *testing.T) {
	limits := quick()
	limits.LingerTime = 300 * time.Millisecond
	r := start(t, limits)
	for name, first := range map[string]string{
		"a head":                   "",
		"a second head":            "GET /health HTTP/1.1\n$HOST\n$AUTH\n\n",
		"a body":                   "POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 1000\n\n",
		"a chunked body":           "POST /mcp HTTP/1.1\n$HOST\n$AUTH\nTransfer-Encoding: chunked\n\nffff\n",
		"a body without a token":   "POST /mcp HTTP/1.1\n$HOST\nContent-Length: 1000\n\n",
		"bytes behind an upgrade":  "GET / HTTP/1.1\n$HOST\n$AUTH\nConnection: Upgrade\nUpgrade: x\n\n",
		"bytes behind a refusal":   "GET / HTTP/9.9\n\n",
		"a body to a missing path": "POST /nothing HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 1000\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if took := drip(r.dial().send(r.fill(first)), "GET /"); took > 3*time.Second {
				t.Errorf("cut after %v only", took)
			}
			r.alive()
		})
	}
}

func TestSlowBodiesAreAnswered(t *testing.T) {
	r := start(t, quick())
	c := r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\nContent-Length: 1000\n\nabc"))
	res, body := c.answer()
	wantError(t, res, body, http.StatusRequestTimeout)
}

func TestAClientThatReadsNothingIsCut(t *testing.T) {
	limits := quick()
	limits.WriteTime = 300 * time.Millisecond
	r := start(t, limits)
	done := make(chan error, 1)
	r.serve = func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for i := 0; i < 1024 && err == nil; i++ {
			_, err = w.Write(make([]byte, 64<<10))
		}
		done <- err
	}
	r.dial().send(r.fill("POST /mcp HTTP/1.1\n$HOST\n$AUTH\n\n"))
	select {
	case err := <-done:
		if err == nil {
			t.Error("64 MiB were written to a client that reads nothing")
		}
	case <-time.After(8 * time.Second):
		t.Error("the answer waits for a client that reads nothing")
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	limits := DefaultLimits()
	limits.Connections = 3
	r := start(t, limits)
	var held []*client
	for range 3 {
		c := r.dial().send(r.fill("GET /health HTTP/1.1\n$HOST\n$AUTH\n\n"))
		c.answer()
		held = append(held, c)
	}
	res, body := r.dial().answer()
	wantError(t, res, body, http.StatusServiceUnavailable)
	_ = held[0].Close()
	for deadline := time.Now().Add(5 * time.Second); ; {
		c := r.dial()
		if _, err := io.WriteString(c, r.fill("GET /health HTTP/1.1\n$HOST\n$AUTH\n\n")); err == nil {
			if res, err := http.ReadResponse(c.in, nil); err == nil && res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("a closed connection makes no room")
		}
		_ = c.Close()
	}
}

func TestNoRequestIsServedWhoseHeadWasNotRead(t *testing.T) {
	c := &conn{}
	if h := c.next(); h.fault == nil {
		t.Error("a request without a head of its own was let through")
	}
}
