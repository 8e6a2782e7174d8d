package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Attempt is the first packet of a TCP connection on the lab's lo, whoever sent it and whether or not anything listened.
type Attempt struct {
	Time     time.Time
	From, To netip.AddrPort
}

// Tap sees every attempt to open a TCP connection in the lab: an oracle where no canary can listen, such as on the
// sidecar's own port.
type Tap struct {
	file *os.File
	done chan struct{}

	mu       sync.Mutex
	attempts []Attempt
}

// maxAttempts bounds the log of one spec.
const maxAttempts = 100_000

// OpenTap listens to the packets on lo. It needs CAP_NET_RAW.
func OpenTap() (*Tap, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(networkOrder(unix.ETH_P_ALL)))
	if err != nil {
		return nil, fmt.Errorf("opening a packet socket: %w", err)
	}
	// A burst of downloads must not push the connections' first packets out. The kernel caps what it won't give.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<20)
	if err := attachFilter(fd); err != nil {
		return nil, errors.Join(fmt.Errorf("filtering the packet socket: %w", err), unix.Close(fd))
	}
	t := &Tap{file: os.NewFile(uintptr(fd), "tap"), done: make(chan struct{})}
	go t.read()
	return t, nil
}

// networkOrder is a 16-bit number as the kernel wants it there.
func networkOrder(n uint16) uint16 { return n<<8 | n>>8 }

// attachFilter lets only the first packets of TCP connections through, so that a 50 MiB download costs nothing here.
// Offsets count from the IP header, since the socket is of the cooked kind.
func attachFilter(fd int) error {
	const (
		loadByte  = unix.BPF_LD | unix.BPF_B | unix.BPF_ABS
		loadByteX = unix.BPF_LD | unix.BPF_B | unix.BPF_IND
		jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		and       = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		shift     = unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K
		headerLen = unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH
		ret       = unix.BPF_RET | unix.BPF_K
		synAck    = 0x12
		syn       = 0x02
	)
	program := []unix.SockFilter{
		{Code: loadByte, K: 0},
		{Code: shift, K: 4},
		{Code: jumpEqual, K: 4, Jt: 0, Jf: 5}, // IPv4?
		{Code: loadByte, K: 9},
		{Code: jumpEqual, K: unix.IPPROTO_TCP, Jt: 0, Jf: 9},
		{Code: headerLen, K: 0},
		{Code: loadByteX, K: 13},
		{Code: unix.BPF_JMP | unix.BPF_JA, K: 4},
		{Code: jumpEqual, K: 6, Jt: 0, Jf: 5}, // IPv6?
		{Code: loadByte, K: 6},
		{Code: jumpEqual, K: unix.IPPROTO_TCP, Jt: 0, Jf: 3},
		{Code: loadByte, K: 40 + 13},
		{Code: and, K: synAck},
		{Code: jumpEqual, K: syn, Jt: 1, Jf: 0},
		{Code: ret, K: 0},
		{Code: ret, K: 96},
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}) //nolint:gosec // sixteen
}

func (t *Tap) read() {
	defer close(t.done)
	raw, err := t.file.SyscallConn()
	if err != nil {
		return
	}
	packet := make([]byte, 256)
	for {
		var n int
		var from unix.Sockaddr
		var recvErr error
		err := raw.Read(func(fd uintptr) bool {
			n, from, recvErr = unix.Recvfrom(int(fd), packet, 0)
			return !errors.Is(recvErr, unix.EAGAIN)
		})
		if err != nil {
			return // closed
		}
		// Each packet on lo passes twice: once on its way out, once in.
		if ll, ok := from.(*unix.SockaddrLinklayer); recvErr != nil || !ok || ll.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		if a, ok := parseAttempt(packet[:n]); ok {
			t.add(a)
		}
	}
}

func (t *Tap) add(a Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.attempts) < maxAttempts {
		a.Time = time.Now()
		t.attempts = append(t.attempts, a)
	}
}

// parseAttempt reads the addresses and ports of a packet that starts with its IP header.
func parseAttempt(packet []byte) (Attempt, bool) {
	if len(packet) < 20 {
		return Attempt{}, false
	}
	var src, dst netip.Addr
	var tcp []byte
	switch packet[0] >> 4 {
	case 4:
		header := int(packet[0]&0x0f) * 4
		if header < 20 || len(packet) < header+4 {
			return Attempt{}, false
		}
		src, dst = netip.AddrFrom4([4]byte(packet[12:16])), netip.AddrFrom4([4]byte(packet[16:20]))
		tcp = packet[header:]
	case 6:
		if len(packet) < 44 {
			return Attempt{}, false
		}
		src, dst = netip.AddrFrom16([16]byte(packet[8:24])), netip.AddrFrom16([16]byte(packet[24:40]))
		tcp = packet[40:]
	default:
		return Attempt{}, false
	}
	return Attempt{
		From: netip.AddrPortFrom(src, binary.BigEndian.Uint16(tcp)), To: netip.AddrPortFrom(dst, binary.BigEndian.Uint16(tcp[2:])),
	}, true
}

// To lists the attempts at one port, by whatever address.
func (t *Tap) To(port int) []Attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []Attempt
	for _, a := range t.attempts {
		if int(a.To.Port()) == port {
			found = append(found, a)
		}
	}
	return found
}

// All lists every attempt since the last Reset.
func (t *Tap) All() []Attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.attempts)
}

// Reset forgets what was seen.
func (t *Tap) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempts = nil
}

// Close stops listening.
func (t *Tap) Close() error {
	if err := t.file.Close(); err != nil {
		return fmt.Errorf("closing the tap: %w", err)
	}
	<-t.done
	return nil
}

// tapWithin is how long a packet may take from lo into the tap.
const tapWithin = 5 * time.Second

// settle opens a connection of the suite's own to the sidecar's HTTP port and waits until the tap has seen it, and with it
// every earlier one. A tap that sees nothing is an error.
func (s *Sidecar) settle(ctx context.Context) error {
	conn, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, tapWithin)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	local := conn.LocalAddr().String()
	for !slices.ContainsFunc(s.lab.Tap.To(s.Port), func(a Attempt) bool { return a.From.String() == local }) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the tap to see a connection from %s: %w", local, ctx.Err())
		}
	}
	return nil
}

// Strangers lists the attempts at the sidecar's own HTTP port that the suite didn't make. The sidecar must be alive.
func (s *Sidecar) Strangers(ctx context.Context) ([]Attempt, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	var strangers []Attempt
	for _, a := range s.lab.Tap.To(s.Port) {
		// Public sites may have the same port.
		if a.To.Addr().IsLoopback() && !s.lab.own.has(a.From) {
			strangers = append(strangers, a)
		}
	}
	return strangers, nil
}

// sources remembers the local ends of the suite's own connections, of this spec and the one before: a port of long ago may
// be a stranger's by now.
type sources struct {
	mu           sync.Mutex
	now, earlier map[netip.AddrPort]bool
}

func (s *sources) add(a netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		s.now = make(map[netip.AddrPort]bool)
	}
	s.now[a] = true
}

func (s *sources) has(a netip.AddrPort) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now[a] || s.earlier[a]
}

// age begins a spec.
func (s *sources) age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.earlier = nil, s.now
}

// String is such as "127.0.0.1:40000 → 10.0.0.5:8000".
func (a Attempt) String() string { return a.From.String() + " → " + a.To.String() }
