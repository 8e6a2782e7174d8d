package lab

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

func TestSilenceNeitherAcceptsNorRefuses(t *testing.T) {
	listener, err := (&Lab{}).Silence(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	var fault net.Error
	if _, err := net.DialTimeout("tcp", at, 300*time.Millisecond); !errors.As(err, &fault) || !fault.Timeout() {
		t.Errorf("connecting to a silent place: got %v, want a timeout", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.DialTimeout("tcp", at, 5*time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("once it is closed: got %v, want a refusal", err)
	}
	if _, err := (&Lab{}).Silence(t.Context(), netip.MustParseAddrPort("192.0.2.1:1")); err == nil {
		t.Error("an address that isn't here is taken")
	}
}
