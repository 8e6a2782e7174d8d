package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for text, want := range map[string]string{
		"GET http://pub.test/a?b HTTP/1.1\r\nHost: pub.test\r\n":                         "pub.test:80 /a?b",
		"GET HTTP://PUB.test. HTTP/1.1\r\nHost: PUB.test\r\n":                            "pub.test:80 /",
		"GET http://pub.test?q=a://b HTTP/1.0\r\n":                                       "pub.test:80 /?q=a://b",
		"POST http://pub.test:81/ HTTP/1.1\r\nHost: other.test\r\nContent-Length: 3\r\n": "pub.test:81 /",
		"POST http://[::2]/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n":       "[::2]:80 /",
		"CONNECT pub.test:443 HTTP/1.1\r\nHost: pub.test:443\r\n":                        "pub.test:443 ",
		"CONNECT [::2]:443 HTTP/1.1\r\n":                                                 "[::2]:443 ",
		"CONNECT pub.test:443 HTTP/1.0\n":                                                "pub.test:443 ",
	} {
		r, err := parseRequest([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := r.authority.String() + " " + r.path; got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	get := "GET http://pub.test/ HTTP/1.1\r\n"
	host := get + "Host: pub.test\r\n"
	for text, status := range map[string]int{
		"GET / HTTP/1.1\r\nHost: pub.test\r\n":                      400,
		"GET //pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":            400,
		"OPTIONS * HTTP/1.1\r\nHost: pub.test\r\n":                  400,
		"GET pub.test:80 HTTP/1.1\r\nHost: pub.test\r\n":            400,
		"GET https://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":      400,
		"GET ws://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":         400,
		"GET file:///etc/passwd HTTP/1.1\r\nHost: pub.test\r\n":     400,
		"GET http:/pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":        400,
		"GET http:\\\\pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":     400,
		"GET http:///x HTTP/1.1\r\nHost: pub.test\r\n":              400,
		"GET http://u:p@pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":   400,
		"GET http://app\\@pub.test/ HTTP/1.1\r\nHost: pub.test\r\n": 400,
		"GET http://pub.test#@app/ HTTP/1.1\r\nHost: pub.test\r\n":  400,
		"GET http://pub.test/#f HTTP/1.1\r\nHost: pub.test\r\n":     400,
		"GET http://pub.test/\x00 HTTP/1.1\r\nHost: pub.test\r\n":   400,
		"GET http://pub.test/\xff HTTP/1.1\r\nHost: pub.test\r\n":   400,
		"GET http://pub.test/\tx HTTP/1.1\r\nHost: pub.test\r\n":    400,
		"GET  http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":      400,
		"GET http://pub.test/ HTTP/1.1 \r\nHost: pub.test\r\n":      400,
		"GET http://pub.test/\r\nHost: pub.test\r\n":                400,
		"GE\x00T http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n":   400,
		"GET http://pub.test/ HTTP/2.0\r\nHost: pub.test\r\n":       505,
		"PRI * HTTP/2.0\r\n":                                               505,
		get:                                                                400,
		get + "Host:\r\n":                                                  400,
		get + "Host: a b\r\n":                                              400,
		get + "Host: [::1\r\n":                                             400,
		get + "Host: pub.test,10.0.0.5\r\n":                                400,
		get + "Host: u@pub.test\r\n":                                       400,
		get + "Host: pub.test:99999\r\n":                                   400,
		get + "Host: http://10.0.0.5/\r\n":                                 400,
		host + "Host: pub.test\r\n":                                        400,
		host + "hOST: 10.0.0.5\r\n":                                        400,
		host + " folded\r\n":                                               400,
		host + "No-Colon\r\n":                                              400,
		host + "Host : 10.0.0.5\r\n":                                       400,
		host + "X: a\rHost: b\r\n":                                         400,
		host + "X: a\x00b\r\n":                                             400,
		host + ": x\r\n":                                                   400,
		host + "Content-Length: 1\r\nContent-Length: 1\r\n":                400,
		host + "Content-Length: 1\r\nContent-Length: 2\r\n":                400,
		host + "Content-Length: 1, 1\r\n":                                  400,
		host + "Content-Length: +1\r\n":                                    400,
		host + "Content-Length: -1\r\n":                                    400,
		host + "Content-Length: 0x1\r\n":                                   400,
		host + "Content-Length: \r\n":                                      400,
		host + "Content-Length: 9223372036854775808\r\n":                   400,
		host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n":       400,
		host + "Transfer-Encoding: gzip, chunked\r\n":                      400,
		host + "Transfer-Encoding: chunked, identity\r\n":                  400,
		host + "Transfer-Encoding: xchunked\r\n":                           400,
		host + "Transfer-Encoding:\x0bchunked\r\n":                         400,
		host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n":    400,
		"POST http://pub.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n": 400,
		"CONNECT pub.test HTTP/1.1\r\n":                                    403,
		"CONNECT pub.test:0 HTTP/1.1\r\n":                                  403,
		"CONNECT pub.test:80/x HTTP/1.1\r\n":                               403,
		"CONNECT http://pub.test:80 HTTP/1.1\r\n":                          403,
		"CONNECT [[pub.test]]:80 HTTP/1.1\r\n":                             403,
		"CONNECT 10.0.0.5 :80 HTTP/1.1\r\n":                                400,
		"CONNECT HTTP/1.1\r\n":                                             400,
		"CONNECT pub.test:80 HTTP/1.1\r\nHost: a\r\nHost: a\r\n":           400,
		"CONNECT pub.test:80 HTTP/1.1\r\nHost: a b\r\n":                    400,
		"\r": 400,
	} {
		r, err := parseRequest([]byte(text))
		var b *badRequest
		if !errors.As(err, &b) || b.status != status || r != nil {
			t.Errorf("%q gives %+v, %v; want status %d", text, r, err, status)
		}
	}
}

func TestTheRequestThatTheOriginGets(t *testing.T) {
	r, err := parseRequest([]byte("POST http://PUB.test.:8080/p?q HTTP/1.1\r\nHost: evil.test\r\nX-Kept: a\r\nx-kept: b\r\n" +
		"Proxy-Connection: keep-alive\r\nProxy-Authorization: secret\r\nProxy-Whatever: x\r\nConnection: Keep-Alive, X-Dropped, Host\r\n" +
		"X-Dropped: secret\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: X\r\nUpgrade: websocket\r\nCookie: c=1\r\nContent-Length: 4\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := r.writeTo(bufio.NewWriter(&got)); err != nil {
		t.Fatal(err)
	}
	want := "POST /p?q HTTP/1.1\r\nHost: pub.test:8080\r\nX-Kept: a\r\nx-kept: b\r\nCookie: c=1\r\nContent-Length: 4\r\n\r\n"
	if got.String() != want {
		t.Errorf("got %q\nwant %q", got.String(), want)
	}
}

func TestParseResponse(t *testing.T) {
	for _, row := range []struct {
		method, text string
		body         framing
		keep         bool
	}{
		{"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", framing{sized, 5}, true},
		{"GET", "HTTP/1.1 200\r\nContent-Length: 5\r\nContent-Length: 5\r\n", framing{sized, 5}, true},
		{"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", framing{kind: chunked}, true},
		{"GET", "HTTP/1.1 200 OK\r\n", framing{kind: untilClose}, false},
		{"GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n", framing{sized, 5}, false},
		{"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: Close\r\n", framing{sized, 5}, false},
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", framing{}, true},
		{"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n", framing{}, true},
		{"GET", "HTTP/1.1 204 No Content\r\n", framing{}, true},
		{"GET", "HTTP/1.1 103 Early Hints\r\n", framing{}, true},
	} {
		r, err := parseResponse([]byte(row.text), row.method)
		if err != nil || r.body != row.body || r.keepAlive() != row.keep {
			t.Errorf("%s %q gives %+v, %v; want %+v, keep %v", row.method, row.text, r, err, row.body, row.keep)
		}
	}
	for _, text := range []string{
		"", "HTTP/1.1\r\n", "HTTP/2 200 OK\r\n", "ICY 200 OK\r\n", "HTTP/1.1 99 X\r\n", "HTTP/1.1 0200 X\r\n", "HTTP/1.1 +20 X\r\n", "HTTP/1.1 abc\r\n",
		"HTTP/1.1 200 O\x00K\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n", "HTTP/1.1 200 OK\r\nbad line\r\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n",
	} {
		if r, err := parseResponse([]byte(text), "GET"); err == nil {
			t.Errorf("%q gives %+v", text, r)
		}
	}
}

func TestReadHead(t *testing.T) {
	long := strings.Repeat("x", 100)
	for text, want := range map[string]string{
		"a\r\nb: c\r\n\r\nrest": "a\r\nb: c\r\n",
		"\r\n\r\na\r\n\r\n":     "a\r\n",
		"a\n\nrest":             "a\n",
		long + "\r\n\r\n":       long + "\r\n",
	} {
		got, err := readHead(bufio.NewReaderSize(strings.NewReader(text), 16), 120)
		if err != nil || string(got) != want {
			t.Errorf("%q gives %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"":                          io.EOF,
		"a":                         io.ErrUnexpectedEOF,
		"a\r\n":                     io.ErrUnexpectedEOF,
		"a\r\nb":                    io.ErrUnexpectedEOF,
		long + long:                 errHeadTooLarge,
		strings.Repeat("\r\n", 100): errHeadTooLarge,
	} {
		if got, err := readHead(bufio.NewReaderSize(strings.NewReader(text), 16), 120); !errors.Is(err, want) {
			t.Errorf("%q gives %q, %v; want %v", text, got, err, want)
		}
	}
}

// FuzzRequest holds what the origin gets against net/http's reading of it: one request, to the authority that is judged.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("GET http://pub.test/a HTTP/1.1\r\nHost: pub.test\r\n"))
	f.Add([]byte("POST http://[::2]:81/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: content-length\r\n"))
	f.Add([]byte("POST http://pub.test HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"))
	f.Add([]byte("GET http://pub.test/ HTTP/1.0\r\nX: a\rb\r\n"))
	f.Add([]byte("CONNECT pub.test:443 HTTP/1.1\r\n"))
	f.Add([]byte("GET http://a@b/ HTTP/1.1\nHost: c\n d\n"))
	f.Add([]byte("GET http://a/% HTTP/1.1\r\nHost: a\r\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		r, err := parseRequest(head)
		if err != nil {
			var b *badRequest
			if !errors.As(err, &b) || b.status < 400 {
				t.Fatalf("%q: %v is no answer", head, err)
			}
			return
		}
		// Who else reads the head as a proxy's reads the same place.
		if other, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(head), strings.NewReader("\r\n")))); err == nil {
			place, err := parseAuthority(other.URL.Host)
			if place.port == 0 {
				place.port = 80
			}
			if err != nil || place.String() != r.authority.String() {
				t.Fatalf("%q is read as a request to %v, and by net/http as one to %q", head, r.authority, other.URL.Host)
			}
		}
		if r.method == "CONNECT" {
			return
		}
		var sent bytes.Buffer
		if err := r.writeTo(bufio.NewWriter(&sent)); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(&sent)
		got, err := http.ReadRequest(in)
		if escape := url.EscapeError(""); errors.As(err, &escape) {
			return // browsers send a bare "%" in a path, and it is the origin's to read
		}
		if err != nil {
			t.Fatalf("%q becomes %q, which net/http refuses: %v", head, sent.String(), err)
		}
		if got.Host != r.authority.hostField() || in.Buffered() > 0 {
			t.Fatalf("%q is read as a request to %q with %d bytes behind it, not to %v", head, got.Host, in.Buffered(), r.authority)
		}
	})
}

// FuzzResponse checks that whatever an origin sends, net/http reads what the client gets as one response's head.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"))
	f.Add([]byte("HTTP/1.1 204 \r\nTransfer-Encoding: chunked\r\n"))
	f.Add([]byte("HTTP/1.0 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nConnection: x\r\nX: y\r\n"))
	f.Add([]byte("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		r, err := parseResponse(head, "GET")
		if err != nil {
			return
		}
		var sent bytes.Buffer
		out := bufio.NewWriter(&sent)
		r.writeTo(out, r.framedFor(1), true)
		_ = out.Flush()
		in := bufio.NewReader(&sent)
		got, err := http.ReadResponse(in, &http.Request{Method: http.MethodGet})
		if err != nil {
			t.Fatalf("%q becomes %q, which net/http refuses: %v", head, sent.String(), err)
		}
		if got.StatusCode != r.status || in.Buffered() > 0 {
			t.Fatalf("%q is read as %d with %d bytes behind it", head, got.StatusCode, in.Buffered())
		}
		_ = got.Body.Close()
	})
}

// FuzzChunkedBody checks that what is passed on of a chunked body is well framed and holds the sender's bytes, and that a
// body which isn't whole is never ended.
func FuzzChunkedBody(f *testing.F) {
	for _, body := range []string{
		"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\n", "3\nabc\n0\n\n", "-1\r\n", "ffffffffffffffffff\r\n", "3\r\nabcd\r\n", "3\r\nab",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var sent bytes.Buffer
		dst := &wire{out: bufio.NewWriter(&sent)}
		src := &wire{in: bufio.NewReader(bytes.NewReader(body))}
		err := relayBody(dst, framing{kind: chunked}, src, framing{kind: chunked})
		want, wantErr := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body)))
		if err == nil && wantErr != nil || err != nil && !errors.Is(err, errBodyBroken) {
			t.Fatalf("%q: %v, though its reader says %v", body, err, wantErr)
		}
		in := bufio.NewReader(&sent)
		got, gotErr := io.ReadAll(httputil.NewChunkedReader(in))
		if !bytes.Equal(got, want) || (gotErr == nil) != (err == nil) {
			t.Fatalf("%q is passed on as %q, %v; want %q, %v", body, got, gotErr, want, err)
		}
	})
}
