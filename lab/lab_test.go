package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTableHasEachAddressOnce(t *testing.T) {
	seen := make(map[netip.Addr]bool)
	for _, a := range Table() {
		if seen[a.Addr] {
			t.Errorf("%s is there twice", a.Addr)
		}
		seen[a.Addr] = true
		if netip.MustParsePrefix("203.0.113.0/24").Contains(a.Addr.Unmap()) {
			t.Errorf("%s is in the range that the machine itself uses", a.Addr)
		}
	}
}

func TestUnassignedAddressesAreNotInTheTable(t *testing.T) {
	for _, a := range Table() {
		for _, u := range unassigned() {
			if a.Addr == u {
				t.Errorf("%s is assigned", u)
			}
		}
	}
}

func TestRequestEdits(t *testing.T) {
	r := Request{Method: "GET", Target: "/", Proto: "HTTP/1.1"}.Add("Host", "a").Add("X", "1").Add("x", "2")
	for _, c := range []struct {
		name string
		got  Request
		want string
	}{
		{"as built", r, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nx: 2\r\n\r\n"},
		{"without, in any case", r.Without("X"), "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"set", r.Set("hOST", "b"), "GET / HTTP/1.1\r\nX: 1\r\nx: 2\r\nhOST: b\r\n\r\n"},
		{"to and as", r.To("/x").As("PUT").Without("x"), "PUT /x HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"unchanged by all that", r, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nx: 2\r\n\r\n"},
	} {
		if got := string(c.got.Bytes()); got != c.want {
			t.Errorf("%s: want %q, got %q", c.name, c.want, got)
		}
	}
}

func TestConfigWithLeavesTheOriginalAlone(t *testing.T) {
	c := Config{"token": "a", "port": 1}
	if got, _ := c.With("port", nil).With("mode", "headless").JSON(); string(got) != `{"mode":"headless","token":"a"}` {
		t.Errorf("got %s", got)
	}
	if len(c) != 2 || c["port"] != 1 {
		t.Errorf("the original changed: %v", c)
	}
}

func TestParseSocketAddr(t *testing.T) {
	for in, want := range map[string]string{
		"0100007F:0BB8":                         "127.0.0.1:3000",
		"00000000:0050":                         "0.0.0.0:80",
		"00000000000000000000000001000000:1F90": "[::1]:8080",
		"local_address":                         "",
		"0100007F":                              "",
		"0100007F:XYZ":                          "",
		"01:0050":                               "",
	} {
		got, err := parseSocketAddr(in)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: want %q, got %v, %v", in, want, got, err)
		}
	}
}

func TestCASignsForNamesAndAddresses(t *testing.T) {
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", ca.TLS())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		for range 2 {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			_ = conn.Close()
		}
	}()
	for _, name := range []string{"www.pub.test", "127.0.0.1"} {
		d := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{RootCAs: ca.Pool(), ServerName: name, MinVersion: tls.VersionTLS12}}
		conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = conn.Close()
	}
	<-served
}

func TestTranscriptCutsLongEntries(t *testing.T) {
	var transcript Transcript
	transcript.Add(">", "long", []byte(strings.Repeat("a", maxEntry+7)))
	got := string(transcript.Bytes())
	if !strings.Contains(got, "and 7 bytes more") || len(got) > maxEntry+200 {
		t.Errorf("got %d bytes that end in %q", len(got), got[len(got)-60:])
	}
	transcript.Reset()
	if len(transcript.Bytes()) != 0 {
		t.Error("a reset transcript is empty")
	}
}

func TestConnectionEndsWithAContextThatHasNoDeadline(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	l := &Lab{Transcript: &Transcript{}}
	c, err := l.dial(ctx, silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// As Ginkgo does at a spec's time limit.
	cancel()
	var timeout net.Error
	if _, err := c.Receive("GET"); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("want a timeout, got %v", err)
	}
	if local := netip.MustParseAddrPort(c.LocalAddr().String()); !l.own.has(local) {
		t.Errorf("%s is the suite's own", local)
	}
}

func TestOwnSourcesAreForgottenAfterTheNextSpec(t *testing.T) {
	var s sources
	a := netip.MustParseAddrPort("127.0.0.1:40000")
	s.add(a)
	for spec, want := range []bool{true, true, false} {
		if got := s.has(a); got != want {
			t.Errorf("%d specs later: want %t, got %t", spec, want, got)
		}
		s.age()
	}
}

func TestRunningIsNotFooledByAName(t *testing.T) {
	if !Running(os.Getpid()) {
		t.Error("this process runs")
	}
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Nobody asks for its exit code meanwhile.
	if err := waitFor(t.Context(), func() bool { return !Running(cmd.Process.Pid) }); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	named := filepath.Join(t.TempDir(), "a) Z b")
	if err := os.Symlink("/bin/sleep", named); err != nil {
		t.Fatal(err)
	}
	sleeper := exec.CommandContext(t.Context(), named, "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	if !Running(sleeper.Process.Pid) {
		t.Error("its name says that it is a zombie, its state doesn't")
	}
}

func TestInitRefusesToRunElsewhere(t *testing.T) {
	if _, err := Init(t.TempDir(), []string{"true"}); err == nil {
		t.Error("only process 1 of its own namespace may mount over /proc")
	}
}

func FuzzParseAttempt(f *testing.F) {
	v4 := append([]byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 10, 0, 0, 5}, 0x30, 0x39, 0x1f, 0x40, 0, 0)
	f.Add(v4)
	f.Add(append([]byte{0x60}, make([]byte, 60)...))
	f.Add([]byte{0x4f})
	f.Fuzz(func(t *testing.T, packet []byte) {
		if a, ok := parseAttempt(packet); ok && (!a.From.Addr().IsValid() || !a.To.Addr().IsValid()) {
			t.Errorf("an attempt without addresses: %v", a)
		}
	})
	if a, ok := parseAttempt(v4); !ok || a.To.String() != "10.0.0.5:8000" || a.From.String() != "127.0.0.1:12345" {
		f.Errorf("got %v, %v", a, ok)
	}
}
