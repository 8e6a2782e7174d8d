package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// drain is how long Close waits for answers under way. Streams, slow answers and sockets end at once.
	drain = 2 * time.Second
	// headTime bounds the reading of a request's head.
	headTime = 10 * time.Second
)

// Listen is one address to serve on. Port 0 takes a free one.
type Listen struct {
	Addr netip.AddrPort
	TLS  bool
}

// Options of Start.
type Options struct {
	TLS   *tls.Config // needed by listeners with TLS; has certificates or GetCertificate. HTTP/2 is offered as well
	Pages fs.FS       // what /pages serves; nil for nothing
}

// Sites is a running set of listeners that serve the same routes. Its methods may be used at once.
type Sites struct {
	listens []Listen
	servers []*http.Server
	sockets []net.Listener
	pages   fs.FS
	stop    context.CancelFunc // ends what would go on for long
	running sync.WaitGroup     // accept loops and handlers, hijacked ones included
	close   func() error

	mu          sync.Mutex // guards what follows
	routes      map[route]http.Handler
	requests    []Request
	connections []Connection
	closing     bool
}

// Start serves on every address, or fails and names each that couldn't be bound. ctx bounds the start only; the sites run
// until Close.
func Start(ctx context.Context, listens []Listen, opts Options) (*Sites, error) {
	if err := check(listens, opts); err != nil {
		return nil, fmt.Errorf("starting the sites: %w", err)
	}
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Sites{pages: opts.Pages, stop: stop, routes: make(map[route]http.Handler)}
	s.close = sync.OnceValue(s.shutdown)

	var faults []error
	for _, l := range listens {
		var config net.ListenConfig
		socket, err := config.Listen(ctx, "tcp", l.Addr.String())
		if err != nil {
			faults = append(faults, fmt.Errorf("listening on %s: %w", l.Addr, err))
			continue
		}
		l.Addr = addrPort(socket.Addr())
		s.listens = append(s.listens, l)
		s.sockets = append(s.sockets, socket)
		s.servers = append(s.servers, s.server(base, l, opts.TLS))
	}
	if err := errors.Join(faults...); err != nil {
		for _, socket := range s.sockets {
			_ = socket.Close()
		}
		stop()
		return nil, fmt.Errorf("starting the sites: %w", err)
	}
	for i, server := range s.servers {
		s.running.Go(func() { serve(server, s.sockets[i]) })
	}
	return s, nil
}

func check(listens []Listen, opts Options) error {
	var faults []error
	if len(listens) == 0 {
		faults = append(faults, errors.New("listeners: none given, want at least one"))
	}
	usable := opts.TLS != nil && (len(opts.TLS.Certificates) > 0 || opts.TLS.GetCertificate != nil || opts.TLS.GetConfigForClient != nil)
	for i, l := range listens {
		if !l.Addr.IsValid() {
			faults = append(faults, fmt.Errorf("listeners[%d].addr: is the zero value, want an address and a port", i))
		}
		if l.TLS && !usable {
			faults = append(faults, fmt.Errorf("listeners[%d].tls: is set, but Options.TLS has no certificate", i))
		}
	}
	return errors.Join(faults...)
}

func (s *Sites) server(base context.Context, l Listen, config *tls.Config) *http.Server {
	server := &http.Server{
		Handler:           s.handler(l.Addr),
		ReadHeaderTimeout: headTime,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          log.New(io.Discard, "", 0), // clients that break off are what is tested
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.connected(Connection{Time: time.Now(), Listener: l.Addr, Remote: addrPort(conn.RemoteAddr())})
			}
		},
	}
	if l.TLS {
		server.TLSConfig = config.Clone()
	}
	return server
}

// serve returns at the shutdown; the errors before that are the sockets' own, which the client sees.
func serve(server *http.Server, socket net.Listener) {
	if server.TLSConfig != nil {
		_ = server.ServeTLS(socket, "", "")
		return
	}
	_ = server.Serve(socket)
}

// Listens are the addresses in the order of Start, with the ports that they got.
func (s *Sites) Listens() []Listen { return slices.Clone(s.listens) }

// URL is the address of a path at the ith listener, by its IP address, such as "http://127.0.0.1:8080/echo".
func (s *Sites) URL(i int, path string) string {
	scheme := "http"
	if s.listens[i].TLS {
		scheme = "https"
	}
	return scheme + "://" + s.listens[i].Addr.String() + path
}

// Close stops listening, ends streams and sockets, gives other answers 2 s, and waits until nothing of the sites runs. The
// log stays readable.
func (s *Sites) Close() error { return s.close() }

func (s *Sites) shutdown() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	faults := make([]error, len(s.servers))
	var stopping sync.WaitGroup
	for i, server := range s.servers {
		stopping.Go(func() {
			err := server.Shutdown(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				err = server.Close() // a client or handler that takes longer is cut off
			}
			faults[i] = err
		})
	}
	stopping.Wait()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.running.Wait()
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("stopping the sites: %w", err)
	}
	return nil
}

func addrPort(addr net.Addr) netip.AddrPort {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
