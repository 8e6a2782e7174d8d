package server

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// FuzzHead checks the two promises of wire.go: foreign bytes never panic, and every head that is accepted is read by
// net/http without an error and in the same way.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: a:1\r\nContent-Length: 3\r\n\r\n",
		"POST /x HTTP/1.0\r\nHost: a\r\nContent-Length: 003\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\nTrailer: X\r\n\r\n",
		"GET http://b:1/?q HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET HTTP://[::1]:1 HTTP/1.1\r\nHost: [::1]\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Upgrade\r\nUpgrade: y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET // HTTP/1.1\r\nHost: a\r\n x\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
		"\x16\x03\x01", "\r\n\r\n", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		end, fault := headEnd(raw, 0)
		for cut := range min(len(raw), 64) {
			early, f := headEnd(raw[:cut], 0)
			if early > 0 && early != end || f != nil && fault == nil && end == 0 {
				t.Fatalf("the head's end depends on how the bytes come: %d of %d, %v", early, end, f)
			}
		}
		if fault != nil || end == 0 || end == 2 {
			return
		}
		h := parseHead(string(raw[:end]))
		if h.fault != nil {
			if h.fault.status < 400 || h.fault.status > 599 || h.fault.text == "" {
				t.Fatalf("a refusal without a form: %+v", h.fault)
			}
			return
		}
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(raw[:end]))))
		if err != nil {
			t.Fatalf("net/http does not read what was accepted: %v", err)
		}
		switch h.framing {
		case chunked:
			if !slices.Equal(req.TransferEncoding, []string{"chunked"}) || req.ContentLength != -1 {
				t.Fatalf("chunked here, %q and length %d there", req.TransferEncoding, req.ContentLength)
			}
		case sized:
			if len(req.TransferEncoding) > 0 || req.ContentLength != h.length {
				t.Fatalf("length %d here, %d and %q there", h.length, req.ContentLength, req.TransferEncoding)
			}
		}
	})
}
