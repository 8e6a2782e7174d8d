package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
)

// quickDialer connects by a network of the test.
func quickDialer(n *network) dialer {
	d := quick().connect
	d.dial = n.dial
	return d
}

func TestTheLivingFamilyIsUsed(t *testing.T) {
	for _, living := range []string{pubAddr, "2606:2800::1"} {
		for _, death := range []string{refuses, silent} {
			for _, order := range [][]string{{pubAddr, "2606:2800::1"}, {"2606:2800::1", pubAddr}} {
				n := &network{routes: map[string]string{}}
				for _, text := range order {
					n.route(netip.AddrPortFrom(netip.MustParseAddr(text), 80).String(), death)
				}
				want := netip.AddrPortFrom(netip.MustParseAddr(living), 80).String()
				n.route(want, serveConns(t, echo))
				conn, err := quickDialer(n).any(t.Context(), addrs(order...), 80)
				if err != nil {
					t.Errorf("%s alone is alive in %v, the other one %s: %v", living, order, death, err)
					continue
				}
				if got := conn.RemoteAddr().String(); got != want {
					t.Errorf("connected to %s, want %s", got, want)
				}
				_ = conn.Close()
			}
		}
	}
}

func TestAFewOfManyDeadAddressesAreTried(t *testing.T) {
	n := &network{routes: map[string]string{}}
	var all []netip.Addr
	for i := range 4000 {
		all = append(all, netip.AddrFrom4([4]byte{93, 185, byte(i / 250), byte(i % 250)}))
		n.route(netip.AddrPortFrom(all[i], 80).String(), silent)
	}
	began := time.Now()
	d := quickDialer(n)
	if _, err := d.any(t.Context(), all, 80); code(err) != "ETIMEDOUT" {
		t.Errorf("got %v, want a timeout", err)
	}
	if took := time.Since(began); took > d.total+2*time.Second {
		t.Errorf("took %v, want %v at the most", took, d.total)
	}
	if dials := n.dials(); len(dials) > maxAddresses {
		t.Errorf("dialled %d addresses, want %d at the most", len(dials), maxAddresses)
	}
}

// closeCounter counts how many of a dialer's connections were closed.
type closeCounter struct {
	net.Conn
	remote net.Addr
	closed func()
}

func (c *closeCounter) RemoteAddr() net.Addr { return c.remote }

func (c *closeCounter) Close() error {
	c.closed()
	return c.Conn.Close()
}

func TestALosingConnectionIsClosed(t *testing.T) {
	var mu sync.Mutex
	var closed []string
	both := make(chan struct{})
	var meeting sync.WaitGroup
	meeting.Add(2)
	go func() {
		meeting.Wait()
		close(both)
	}()
	d := quick().connect
	d.dial = func(ctx context.Context, _, address string) (net.Conn, error) {
		meeting.Done()
		select { // both are accepted at once
		case <-both:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		here, there := net.Pipe()
		return &closeCounter{here, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)), func() {
			_ = there.Close()
			mu.Lock()
			defer mu.Unlock()
			closed = append(closed, address)
		}}, nil
	}
	conn, err := d.any(t.Context(), addrs(pubAddr, pubAddr2), 80)
	if err != nil {
		t.Fatal(err)
	}
	won := conn.RemoteAddr().String()
	want := slices.DeleteFunc([]string{pubAddr + ":80", pubAddr2 + ":80"}, func(a string) bool { return a == won })
	mu.Lock()
	if !slices.Equal(closed, want) {
		t.Errorf("%s won and %v were closed, want %v", won, closed, want)
	}
	mu.Unlock()
	_ = conn.Close()
}

func TestConnectingEndsWithItsContext(t *testing.T) {
	n := &network{routes: map[string]string{pubAddr + ":80": silent}}
	ctx, cancel := context.WithCancel(t.Context())
	d := quickDialer(n)
	d.timeout, d.total = time.Minute, time.Minute
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := d.any(ctx, addrs(pubAddr), 80); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
}
