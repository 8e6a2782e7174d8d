package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// privateAuthorities are private places, one of each class, and the sidecar's own two ports.
func privateAuthorities(s *lab.Sidecar, p *lab.Proxy) []string {
	all := []string{p.Addr, "localhost:" + portOf(p.Addr), fmt.Sprintf("127.0.0.1:%d", s.Port)}
	for _, a := range privates() {
		all = append(all, lab.Authority(a, lab.CanaryPort))
	}
	return all
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// methods are those that a direct speaker can use; a browser would send half of them by itself.
func methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PROPFIND", "PURGE", "FOO", "connect"}
}

func proxyAlone(l *lab.Lab) {
	// "Whoever speaks to the proxy's port directly gets no more than a page gets: private destinations are refused …"
	It("refuses private destinations to whoever speaks to its proxy", engine.Clause("egress.proxy-alone"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		controlRaw(ctx, l, p)
		for _, authority := range privateAuthorities(s, p) {
			for _, method := range methods() {
				did := fmt.Sprintf("asking the proxy for %s http://%s/", method, authority)
				refusedBytes(ctx, p, did, method, lab.Request{Method: method, Target: "http://" + authority + "/", Proto: "HTTP/1.1"}.
					Add("Host", authority).Add("Content-Length", "0").Add("Connection", "close").Bytes())
			}
			refusedBytes(ctx, p, "CONNECT "+authority, "CONNECT", connectBytes(authority))
			for _, version := range []string{"HTTP/1.0", "HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3", "http/1.1", ""} {
				for _, method := range []string{"GET", "CONNECT"} {
					target := map[string]string{"GET": "http://" + authority + "/", "CONNECT": authority}[method]
					line := strings.TrimSpace(method + " " + target + " " + version)
					nothingBy(ctx, p, line, []byte(line+"\r\nHost: "+authority+"\r\n\r\n"))
				}
			}
			for _, scheme := range []string{"https", "ws", "wss", "ftp", "gopher", "dict", "tcp", "HTTP", "unix", "jar:http", "view-source:http"} {
				target := scheme + "://" + authority + "/"
				refusedBytes(ctx, p, fmt.Sprintf("asking the proxy for GET %s", target), "GET", getBytes(target, "Host: "+authority))
			}
		}
		for _, target := range []string{"file:///etc/passwd", "file://localhost/etc/passwd", "data:text/plain,x", "about:blank"} {
			refusedBytes(ctx, p, "asking the proxy for GET "+target, "GET", getBytes(target, "Host: "+targetName))
		}
		controlRaw(ctx, l, p)
		strangers, err := s.Strangers(ctx)
		engine.Harness(err)
		Expect(strangers).To(BeEmpty(), "connections to the sidecar's own port by way of its proxy")
		untouched(ctx, l, s, "asking the proxy for private places")
	})

	// "… and an origin-form request is refused."
	It("refuses a request that is none to a proxy", engine.Clause("egress.proxy-alone"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		public := lab.Authority(l.Public(1), lab.SitePort)
		controlRaw(ctx, l, p)
		for _, host := range append(privateAuthorities(s, p), public, l.AppAddr().String(), "www."+lab.PublicName+":8080") {
			for _, target := range []string{"/", "/status?code=200&mark=origin-form", "//" + host + "/", "/http://" + host + "/", "/../../etc/passwd"} {
				for _, method := range []string{"GET", "OPTIONS", "POST"} {
					did := fmt.Sprintf("asking the proxy for %s %s with Host: %s", method, target, host)
					refusedBytes(ctx, p, did, method, lab.Request{Method: method, Target: target, Proto: "HTTP/1.1"}.
						Add("Host", host).Add("Content-Length", "0").Add("Connection", "close").Bytes())
				}
			}
		}
		for _, host := range append(privateAuthorities(s, p), public) { // a proxy may answer for itself, but asks nobody
			_, err := answerTo(ctx, p, "OPTIONS", []byte("OPTIONS * HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"))
			Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), "asking the proxy for OPTIONS * with Host: %s", host)
		}
		Expect(arrivedAt(l, "mark=origin-form")).To(BeEmpty(), "where requests in origin-form arrived")
		unreached(ctx, l, s, "sending requests in origin-form to the proxy")
		controlRaw(ctx, l, p)
		untouched(ctx, l, s, "sending requests in origin-form to the proxy")
	})

	// "Whoever speaks to the proxy's port directly gets no more than a page gets …"
	It("reaches nothing private for other protocols and garbage", engine.Clause("egress.proxy-alone"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		controlRaw(ctx, l, p)
		for did, raw := range foreign(ctx) {
			nothingBy(ctx, p, did, raw)
		}
		controlRaw(ctx, l, p)
		untouched(ctx, l, s, "speaking other protocols to the proxy")
	})

	// "The port listens on loopback only."
	It("has its proxy listen on loopback only", engine.Clause("egress.proxy-alone"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		port, err := strconv.ParseUint(portOf(p.Addr), 10, 16)
		engine.Harness(err)
		listeners, err := s.Listeners()
		engine.Harness(err)
		listeners = slices.DeleteFunc(listeners, func(at lab.Listener) bool { return at.Addr.Port() != uint16(port) })
		Expect(listeners).NotTo(BeEmpty(), "the control: the sockets that listen at the proxy's port")
		for _, at := range listeners {
			Expect(at.Addr.Addr().Unmap().IsLoopback()).To(BeTrue(), "the proxy listens on %s", at.Addr)
		}
		for _, a := range []netip.Addr{l.Public(0), l.Public(3), netip.MustParseAddr("10.66.0.5"), netip.MustParseAddr("fd66::5"), netip.MustParseAddr("169.254.169.254")} {
			place := netip.AddrPortFrom(a, uint16(port))
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", place.String())
			if err == nil {
				_ = conn.Close()
				engine.Fail("connecting to the proxy's port at "+place.String(), []string{"the connection refused"}, "a connection")
			}
		}
		controlRaw(ctx, l, p)
	})
}

// nothingBy sends bytes and the end of this side to the proxy and reads whatever comes, with a bound: what was reached by
// them, the canaries tell.
func nothingBy(ctx context.Context, p *lab.Proxy, did string, raw []byte) {
	GinkgoHelper()
	within, cancel := context.WithTimeout(ctx, refuseWithin)
	defer cancel()
	c, err := p.Dial(within)
	Expect(err).NotTo(HaveOccurred(), "connecting to the proxy for %s", did)
	defer c.Close()
	if err := c.Send(raw); err == nil {
		_ = c.CloseWrite()
	}
	answer, _ := io.ReadAll(io.LimitReader(c, 1<<16)) // its end may be a reset, or the bound
	if bytes.HasPrefix(answer, []byte("HTTP/1.1 2")) || bytes.HasPrefix(answer, []byte("HTTP/1.0 2")) {
		engine.Fail(did, []string{"an error status", "the connection closed", "an answer in another protocol"}, fmt.Sprintf("%.200q", answer))
	}
}

// foreign are greetings and requests in other protocols, for private places, and garbage; named by what they are.
func foreign(ctx context.Context) map[string][]byte {
	GinkgoHelper()
	v4, v6 := netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("fd66::5")
	port := binary.BigEndian.AppendUint16(nil, lab.CanaryPort)
	rest := "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	all := map[string][]byte{
		"SOCKS4":               slices.Concat([]byte{4, 1}, port, v4.AsSlice(), []byte("user\x00"+rest)),
		"SOCKS4a with a name":  slices.Concat([]byte{4, 1}, port, []byte("\x00\x00\x00\x01user\x00localhost\x00"+rest)),
		"SOCKS5 greeting":      {5, 1, 0},
		"SOCKS5 by address":    slices.Concat([]byte{5, 1, 0, 5, 1, 0, 1}, v4.AsSlice(), port, []byte(rest)),
		"SOCKS5 by IPv6":       slices.Concat([]byte{5, 1, 0, 5, 1, 0, 4}, v6.AsSlice(), port, []byte(rest)),
		"SOCKS5 by name":       slices.Concat([]byte{5, 1, 0, 5, 1, 0, 3, 9}, []byte("localhost"), port, []byte(rest)),
		"a PROXY header":       []byte("PROXY TCP4 127.0.0.1 10.0.0.5 1 8000\r\nGET http://10.0.0.5:8000/ HTTP/1.1\r\nHost: 10.0.0.5:8000\r\n\r\n"),
		"an HTTP/2 preface":    []byte(http2.ClientPreface),
		"HTTP/2 CONNECT":       overHTTP2("CONNECT", "", "10.0.0.5:8000"),
		"HTTP/2 GET":           overHTTP2("GET", "http", "10.0.0.5:8000"),
		"HTTP/2 Upgrade":       []byte("GET http://10.0.0.5:8000/ HTTP/1.1\r\nHost: 10.0.0.5:8000\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"),
		"HTTP/0.9":             []byte("GET http://10.0.0.5:8000/\r\n"),
		"HTTP/0.9 origin-form": []byte("GET /\r\n\r\n"),
		"a TLS hello":          clientHello(ctx, "localhost"),
		"SSH":                  []byte("SSH-2.0-x\r\n"),
		"SMTP":                 []byte("EHLO localhost\r\nMAIL FROM:<a@b>\r\n"),
		"CDP":                  []byte("{\"id\":1,\"method\":\"Browser.close\"}\x00"),
		"zeros":                make([]byte, 4096),
		"empty lines":          bytes.Repeat([]byte("\r\n"), 4096),
		"blanks":               bytes.Repeat([]byte(" "), 8192),
		"a long line":          bytes.Repeat([]byte("A"), 1<<20),
		"a long target":        []byte("GET http://10.0.0.5:8000/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n"),
		"many headers":         []byte("GET http://10.0.0.5:8000/ HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: x\r\n", 100_000) + "\r\n"),
		"half a request":       []byte("GET http://10.0.0.5:8000/ HT"),
		"nothing":              {},
	}
	noise := make([]byte, 0, 256)
	for b := range 256 {
		noise = append(noise, byte(b))
	}
	all["every byte"] = append(noise, "\r\n\r\n"...)
	return all
}

// overHTTP2 is a request over HTTP/2 without a handshake (RFC 9113 §3.3).
func overHTTP2(method, scheme, authority string) []byte {
	GinkgoHelper()
	var head, frames bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	fields := []hpack.HeaderField{{Name: ":method", Value: method}, {Name: ":authority", Value: authority}}
	if scheme != "" {
		fields = append(fields, hpack.HeaderField{Name: ":scheme", Value: scheme}, hpack.HeaderField{Name: ":path", Value: "/"})
	}
	for _, f := range fields {
		engine.Harness(encoder.WriteField(f))
	}
	frames.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&frames, nil)
	engine.Harness(framer.WriteSettings())
	engine.Harness(framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true}))
	return frames.Bytes()
}

// clientHello is the first message of a TLS handshake.
func clientHello(ctx context.Context, name string) []byte {
	GinkgoHelper()
	near, far := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = tls.Client(near, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx) // ends with far
	}()
	record := make([]byte, 5)
	_, err := io.ReadFull(far, record)
	engine.Harness(err)
	message := make([]byte, binary.BigEndian.Uint16(record[3:]))
	_, err = io.ReadFull(far, message)
	engine.Harness(err)
	engine.Harness(far.Close())
	<-ended
	engine.Harness(near.Close())
	return slices.Concat(record, message)
}
