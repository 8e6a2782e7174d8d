package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	miekg "github.com/miekg/dns"
)

// drain is how long Close waits for answers that are being written.
const drain = 2 * time.Second

// Server answers by script. Its methods may be used at once.
type Server struct {
	addr    netip.AddrPort
	servers []*miekg.Server
	serving sync.WaitGroup
	closing chan struct{} // releases answers that are held back
	close   func() error

	mu      sync.Mutex // guards what follows
	scripts map[canonical]script
	counts  map[lookup]int
	log     []*Query
}

// Start listens on addr ("address:port", port 0 for any free one) with UDP and TCP on the same port. ctx bounds the start
// only; the server runs until Close.
func Start(ctx context.Context, addr string) (*Server, error) {
	packets, stream, err := listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("starting the DNS server on %s: %w", addr, err)
	}
	s := &Server{
		addr:    packets.LocalAddr().(*net.UDPAddr).AddrPort(),
		closing: make(chan struct{}),
		scripts: make(map[canonical]script),
		counts:  make(map[lookup]int),
	}
	s.close = sync.OnceValue(s.shutdown)

	handler := func(transport string) miekg.Handler {
		return miekg.HandlerFunc(func(w miekg.ResponseWriter, m *miekg.Msg) { s.answer(w, m, transport) })
	}
	started := make(chan struct{}, 2)
	s.servers = []*miekg.Server{
		{PacketConn: packets, Handler: handler(UDP), NotifyStartedFunc: func() { started <- struct{}{} }},
		{Listener: stream, Handler: handler(TCP), NotifyStartedFunc: func() { started <- struct{}{} }},
	}
	failed := make(chan error, len(s.servers))
	for _, server := range s.servers {
		s.serving.Go(func() { failed <- server.ActivateAndServe() })
	}
	for range s.servers {
		select {
		case <-started:
		case err := <-failed:
			_, _ = packets.Close(), stream.Close() // which ends the other one too
			s.serving.Wait()
			return nil, fmt.Errorf("starting the DNS server on %s: %w", addr, err)
		}
	}
	return s, nil
}

// listen binds both transports to one port. With port 0 the port that UDP got may be taken for TCP: then another is tried.
func listen(ctx context.Context, addr string) (net.PacketConn, net.Listener, error) {
	var config net.ListenConfig
	var faults []error
	for range 10 {
		packets, err := config.ListenPacket(ctx, "udp", addr)
		if err != nil {
			return nil, nil, err
		}
		stream, err := config.Listen(ctx, "tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, stream, nil
		}
		faults = append(faults, err, packets.Close())
		if _, port, _ := net.SplitHostPort(addr); port != "0" {
			break
		}
	}
	return nil, nil, errors.Join(faults...)
}

// Addr is where the server listens, on both transports.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// Close stops the server and waits until nothing of it runs. Answers that are held back are never sent. Closing again
// returns what the first time did.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutdown() error {
	close(s.closing)
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	var faults []error
	for _, server := range s.servers {
		faults = append(faults, server.ShutdownContext(ctx))
	}
	s.serving.Wait()
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("stopping the DNS server on %s: %w", s.addr, err)
	}
	return nil
}

// Reset forgets every script, every count and the log.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.scripts)
	clear(s.counts)
	s.log = nil
}

// answer writes the query down, resolves it, and sends the answer when its time has come. The library calls it in a
// goroutine for each message, and waits for those at its shutdown.
func (s *Server) answer(w miekg.ResponseWriter, query *miekg.Msg, transport string) {
	if len(query.Question) != 1 { // a header alone passes the library's own check
		_ = w.WriteMsg(new(miekg.Msg).SetRcodeFormatError(query))
		return
	}
	question := query.Question[0]
	q := Query{
		Time:      time.Now(),
		Name:      withoutDot(miekg.CanonicalName(question.Name)),
		Asked:     withoutDot(question.Name),
		Type:      miekg.Type(question.Qtype).String(),
		Client:    addrPort(w.RemoteAddr()),
		Transport: transport,
	}
	filed := s.file(q)

	out, m := s.compose(q, query, transport == UDP)
	s.note(filed, out.nth, summary(m, out))
	if out.silent {
		return
	}
	held := time.NewTimer(out.delay)
	defer held.Stop()
	select {
	case <-held.C:
		out.first.flaws.send(w, query, m)
	case <-s.closing:
	}
}

func (s *Server) compose(q Query, query *miekg.Msg, udp bool) (outcome, *miekg.Msg) {
	var out outcome
	question := query.Question[0]
	switch {
	case query.Opcode != miekg.OpcodeQuery:
		out.rcode = NotImp
	case question.Qclass != miekg.ClassINET:
		out.rcode = Refused
	default:
		var err error
		if out, err = s.resolve(q, question); err != nil {
			out = outcome{rcode: ServFail, nth: out.nth, used: out.used}
		}
	}
	m := reply(query, out, udp)
	if udp && m.Truncated { // the lookup goes on over TCP
		s.giveBack(out.used)
	}
	return out, m
}

func addrPort(addr net.Addr) netip.AddrPort {
	switch addr := addr.(type) {
	case *net.UDPAddr:
		return unmap(addr.AddrPort())
	case *net.TCPAddr:
		return unmap(addr.AddrPort())
	}
	return netip.AddrPort{}
}

// unmap writes an IPv4 client of a socket that listens on both families as IPv4.
func unmap(ap netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()) }
