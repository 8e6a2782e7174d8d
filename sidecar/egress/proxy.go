// Package egress is the forward proxy that Chromium sends everything through, and the address policy that it keeps: a
// page reaches its sandbox's app and public addresses, and nothing else (contract, section egress). The policy stands in
// policy.go; everything else carries it out.
package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"
)

// Options say what a proxy lets through and how it connects. The zero value is a proxy to public addresses.
type Options struct {
	// App is the sandbox's app. Its scheme's default port counts; host and port are exempt exactly as spelled here.
	// Without it nothing is exempt.
	App *url.URL
	// Resolver looks up names. Nil asks the servers of /etc/resolv.conf.
	Resolver Resolver
	// Dial connects to an "address:port" and obeys its context. Nil is net.Dialer's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log gets the refusals. Nil discards them.
	Log *slog.Logger
}

// limits are the proxy's bounds.
type limits struct {
	clients  int           // connections served at once; further ones wait
	idle     time.Duration // a client between two requests
	head     time.Duration // a client's request head, from its first byte
	answer   time.Duration // a public host's response head, from the end of the request
	patience time.Duration // without a byte on a connection of which one direction has ended
	linger   time.Duration // for a client to read a last answer
	connect  dialer        // without its dial
}

// defaultLimits keep a dead host below 30 s: 10 s of look-up and 15 s of connecting at the most.
func defaultLimits() limits {
	return limits{
		clients: 1024, // Chromium opens at most 256 to a proxy
		idle:    5 * time.Minute, head: 15 * time.Second, answer: 20 * time.Second, patience: 20 * time.Second, linger: time.Second,
		connect: dialer{timeout: 10 * time.Second, total: 15 * time.Second, stagger: 300 * time.Millisecond},
	}
}

// A Proxy is a forward proxy on a port of 127.0.0.1. Whoever speaks to it is allowed what a page is.
type Proxy struct {
	policy   policy
	dialer   dialer
	limits   limits
	denials  *denials
	listener net.Listener
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// Listen starts a proxy on a free port of 127.0.0.1. It serves until Close; ctx ends only the start.
func Listen(ctx context.Context, o Options) (*Proxy, error) {
	return listen(ctx, o, defaultLimits())
}

func listen(ctx context.Context, o Options, l limits) (*Proxy, error) {
	p := &Proxy{limits: l, dialer: l.connect}
	if o.App != nil {
		app, err := appAuthority(o.App)
		if err != nil {
			return nil, fmt.Errorf("starting the egress proxy: %w", err)
		}
		p.policy.app = app
	}
	if p.policy.names = o.Resolver; p.policy.names == nil {
		p.policy.names = newDNSResolver()
	}
	p.policy.appHost = &appResolver{path: "/etc/hosts", next: p.policy.names}
	if p.dialer.dial = o.Dial; p.dialer.dial == nil {
		p.dialer.dial = new(net.Dialer).DialContext
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p.denials = newDenials(log)

	var config net.ListenConfig
	config.SetMultipathTCP(false) // a plain socket can be spliced and is listed in /proc/net/tcp
	var err error
	if p.listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("starting the egress proxy: %w", err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.running.Go(func() { p.denials.run(serving) })
	p.running.Go(func() { p.accept(serving) })
	return p, nil
}

// Addr returns "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close stops listening, ends every connection and waits until all is over or ctx ends. It may be called again.
func (p *Proxy) Close(ctx context.Context) error {
	p.stop()
	err := p.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	over := make(chan struct{})
	go func() {
		p.running.Wait()
		close(over)
	}()
	select {
	case <-over:
		return err
	case <-ctx.Done():
		return fmt.Errorf("closing the egress proxy: %w", ctx.Err())
	}
}

// accept serves clients until ctx ends.
func (p *Proxy) accept(ctx context.Context) {
	free := make(chan struct{}, p.limits.clients)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := p.listener.Accept()
		if err != nil {
			<-free
			select { // out of descriptors, most likely: some will be given back
			case <-time.After(50 * time.Millisecond):
				continue
			case <-ctx.Done():
				return
			}
		}
		p.running.Go(func() {
			defer func() { <-free }()
			p.serve(ctx, conn)
		})
	}
}

// connect opens a connection to a, or says in a *refusal why a page may not have one.
func (p *Proxy) connect(ctx context.Context, a authority) (net.Conn, error) {
	addrs, err := p.policy.route(ctx, a)
	if err != nil {
		return nil, err
	}
	return p.dialer.any(ctx, addrs, a.port)
}
