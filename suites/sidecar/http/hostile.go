package http

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// hostileBytes are requests that no honest client sends. They bring the token, so that they get past admission where they
// are HTTP enough for that – but for those that RFC 9112 lets a server read as honest ones: they must be refused either
// way.
func hostileBytes(s *lab.Sidecar) map[string]string {
	rest := " HTTP/1.1\r\nHost: " + s.Addr + "\r\nAuthorization: Bearer " + s.Token() + "\r\n"
	end := "Connection: close\r\n\r\n"
	return map[string]string{
		"the target //":                 "GET //" + rest + end,
		"the target ///health":          "GET ///health" + rest + end,
		"the target http://":            "GET http://" + rest + end,
		"the target http:///":           "GET http:///" + rest + end,
		"the target *":                  "GET *" + rest + end,
		"OPTIONS *":                     "OPTIONS *" + rest + end,
		"an empty target":               "GET " + rest + end,
		"no target":                     "GET HTTP/1.1\r\n" + end,
		"a NUL in the target":           "GET /he\x00alth" + rest + end,
		"an escaped NUL":                "GET /health%00" + rest + end,
		"a broken escape":               "GET /%zz" + rest + end,
		"a half escape":                 "GET /%" + rest + end,
		"invalid UTF-8 in the target":   "GET /\xff\xfe\xc0\xaf" + rest + end,
		"64 KiB of path":                "GET /" + strings.Repeat("a", 64<<10) + rest + end,
		"a mebibyte of path":            "GET /" + strings.Repeat("b", 1<<20) + rest + end,
		"CONNECT":                       "CONNECT 127.0.0.1:80" + rest + end,
		"CONNECT to nothing":            "CONNECT" + rest + end,
		"CONNECT to a path":             "CONNECT /health" + rest + end,
		"a target with a port of 99999": "GET http://127.0.0.1:99999/" + rest + end,
		"a target with a bad bracket":   "GET http://[::1/" + rest + end,
		"a bare line feed":              "GET /health HTTP/1.1\nHost: " + s.Addr + "\n\n",
		"a carriage return alone":       "GET /health HTTP/1.1\rHost: " + s.Addr + "\r\r",
		"a header without a colon":      "GET /nowhere" + rest + "nonsense\r\n" + end,
		"a header with a blank name":    "GET /nowhere" + rest + ": x\r\n" + end,
		"a blank before the colon":      "GET /nowhere" + rest + "X-A : b\r\n" + end,
		"a folded header":               "GET /nowhere" + rest + "X-A: b\r\n c\r\n" + end,
		"a NUL in a header":             "GET /nowhere" + rest + "X-A: b\x00c\r\n" + end,
		"a header of 2 MiB":             "GET /nowhere" + rest + "X-A: " + strings.Repeat("c", 2<<20) + "\r\n" + end,
		"100,000 headers":               "GET /nowhere" + rest + strings.Repeat("X-A: b\r\n", 100_000) + end,
		"HTTP/9.9":                      "GET /health HTTP/9.9\r\nHost: " + s.Addr + "\r\n\r\n",
		"HTTP/0.9":                      "GET /health\r\n",
		"HTTP/2's preface":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"a TLS handshake":               "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 512),
		"zeros":                         strings.Repeat("\x00", 4096),
		"all bytes":                     allBytes(),
		"SSH":                           "SSH-2.0-OpenSSH_9.2\r\n",
		"JSON alone":                    `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\r\n\r\n",
		"empty lines":                   strings.Repeat("\r\n", 5000),
		"nothing":                       "",
	}
}

func allBytes() string {
	b := make([]byte, 0, 1024)
	for i := range 1024 {
		b = append(b, byte(255-i))
	}
	return string(b)
}

func hostile(l *lab.Lab) {
	// "Malformed targets …, broken or endless headers and bytes that are not HTTP never end the process and never disturb
	// another client: each gets an error status or a closed connection."
	It("survives hostile bytes, and so do its other clients", engine.Clause("http.hostile-bytes"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			request := s.Get("/health").Bytes()
			half := len(request) / 2
			for did, raw := range hostileBytes(s) {
				// Another client's request is under way meanwhile: a connection at rest might be closed for that alone.
				other, err := s.Dial(ctx)
				Expect(err).NotTo(HaveOccurred(), "opening another client's connection before %s", did)
				Expect(other.Send(request[:half])).To(Succeed(), "the first half of another client's request before %s", did)
				status, err := hurl(ctx, s, raw)
				Expect(err).NotTo(HaveOccurred(), "sending %s", did)
				if status != 0 && status < 400 {
					engine.Fail("sending "+did, []string{"an error status", "the connection closed"}, fmt.Sprintf("status %d", status))
				}
				Expect(other.Send(request[half:])).To(Succeed(), "the second half of another client's request after %s", did)
				answer, err := other.Receive("GET")
				Expect(err).NotTo(HaveOccurred(), "another client's answer after %s", did)
				Expect(answer.Status).To(Equal(200), "another client's answer after %s", did)
				Expect(other.Close()).To(Succeed(), "closing another client's connection")
			}
			attack.Alive(ctx, s)
		})
}

// hurl sends bytes, ends its half of the connection, and returns the answer's status, or 0 when the peer just closed.
func hurl(ctx SpecContext, s *lab.Sidecar, raw string) (int, error) {
	c, err := s.Dial(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// A peer that has seen enough closes before all is written.
		_ = c.Send([]byte(raw))
		_ = c.CloseWrite()
	}()
	answer, err := c.Receive("GET")
	_ = c.Close()
	<-sent
	switch {
	case attack.HungUp(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("waiting for an answer or the close: %w", err)
	}
	return answer.Status, nil
}
