package egress

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A script is a client that says all it has to say at once and hears what is answered.
type script struct {
	net.Conn // nil: only what is below is used

	says  *bytes.Reader
	heard bytes.Buffer
}

func (s *script) Read(b []byte) (int, error)       { return s.says.Read(b) }
func (s *script) Write(b []byte) (int, error)      { return s.heard.Write(b) }
func (s *script) Close() error                     { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }

// FuzzConnection lets a client say anything. Whatever it says, only public places are dialled, no address is looked up, and
// a request that is refused dials nothing.
func FuzzConnection(f *testing.F) {
	for _, text := range append(noAuthorities(), "pub.test:80", "10.0.0.5:80", "[::1]:80", "LOCALHOST.:80", "secret.test:80", "127.0.0.1.:80") {
		f.Add([]byte("CONNECT " + text + " HTTP/1.1\r\nHost: pub.test\r\n\r\n"))
		f.Add([]byte("GET http://" + text + "/ HTTP/1.1\r\nHost: pub.test\r\n\r\n"))
	}
	for _, raw := range []string{
		"GET / HTTP/1.1\r\nHost: pub.test\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: pub.test\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x05\x01\x00",
		"GET http://pub.test/\r\n\r\n", "\r\n\r\nGET http://10.0.0.5/ HTTP/1.1\nHost: x\n\n", "\x16\x03\x01\x00\x05hello\r\n\r\n",
		"POST http://10.0.0.5/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://10.0.0.6/ HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		var dialed []netip.AddrPort
		names := lookup(func(_ context.Context, name string) ([]netip.Addr, error) {
			if _, err := netip.ParseAddr(name); err == nil || name != strings.ToLower(name) || strings.HasSuffix(name, ".") {
				t.Errorf("%q makes a look-up of %q", said, name)
			}
			if strings.HasPrefix(name, "pub") {
				return addrs(pubAddr), nil
			}
			return addrs("10.0.0.5"), nil
		})
		l := quick()
		p := &Proxy{policy: policy{names: names}, limits: l, dialer: l.connect, denials: newDenials(slog.New(slog.DiscardHandler))}
		p.dialer.dial = func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, netip.MustParseAddrPort(address))
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
		client := &script{says: bytes.NewReader(said)}
		p.serve(t.Context(), client)
		for _, place := range dialed {
			if a := place.Addr(); a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() || place.Port() == 0 {
				t.Errorf("%q dials %v", said, place)
			}
		}
		if client.heard.Len() == 0 {
			if len(dialed) > 0 {
				t.Errorf("%q dials %v and is told nothing", said, dialed)
			}
			return
		}
		method, _, _ := bytes.Cut(bytes.TrimLeft(said, "\r\n"), []byte(" "))
		answer, err := http.ReadResponse(bufio.NewReader(&client.heard), &http.Request{Method: string(method)})
		if err != nil {
			t.Fatalf("%q is answered %v", said, err)
		}
		_ = answer.Body.Close()
		if tried := len(dialed) > 0; tried != (answer.StatusCode == http.StatusBadGateway) || answer.StatusCode < 400 {
			t.Errorf("%q is answered %d and dials %v", said, answer.StatusCode, dialed)
		}
	})
}
