// Package sidecar wires the rooms of the browser sidecar together: it starts them in order and stops them in the
// opposite one, whatever ended the run.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/admit"
	"github.com/browser-sidecar/conformance/sidecar/browser"
	"github.com/browser-sidecar/conformance/sidecar/config"
	"github.com/browser-sidecar/conformance/sidecar/egress"
	"github.com/browser-sidecar/conformance/sidecar/mcp"
	"github.com/browser-sidecar/conformance/sidecar/server"
	"github.com/browser-sidecar/conformance/sidecar/tools"
)

// ErrExpired ends a run at the configuration's stop_at.
var ErrExpired = errors.New("the sandbox expired")

// ErrBrowserGone ends a run whose Chromium ended by itself.
var ErrBrowserGone = errors.New("the browser closed")

// Options are what a start needs beside its configuration.
type Options struct {
	Version string
	Log     *slog.Logger
}

// Sidecar is a running sidecar.
type Sidecar struct {
	log     *slog.Logger
	port    int
	browser *browser.Browser
	server  *server.Server

	stopping sync.Once
	steps    []step
	stopped  error // of Stop; valid once stopping is done
}

// step is something that was started and how to end it again.
type step struct {
	ending string
	limit  time.Duration
	end    func(context.Context) error
}

// Run starts a sidecar, calls ready with its port once it answers requests, and stops it when ctx ends, at the
// configuration's stop_at, or when the browser is gone. Only the first two are a good end, also during the start: then
// Run returns nil, unless something could not be cleaned up. Nothing of the run is left afterwards.
func Run(ctx context.Context, c *config.Config, o Options, ready func(port int) error) error {
	if !c.StopAt.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, c.StopAt, ErrExpired)
		defer cancel()
	}
	s, err := Start(ctx, c, o)
	if err != nil {
		if ctx.Err() == nil {
			return err
		}
		o.Log.Info("stopping: " + context.Cause(ctx).Error())
		var left *leftError
		if errors.As(err, &left) {
			return left
		}
		return nil
	}
	err = ready(s.Port())
	if err == nil {
		err = s.Wait(ctx)
	}
	reason := err
	if reason == nil {
		reason = context.Cause(ctx)
	}
	return errors.Join(err, s.Stop(context.WithoutCancel(ctx), reason.Error()))
}

// Start starts every room and returns when requests are answered. Where that fails, or ctx ends before, everything is
// stopped again.
func Start(ctx context.Context, c *config.Config, o Options) (*Sidecar, error) {
	s := &Sidecar{log: o.Log}
	if err := s.start(ctx, c, o); err != nil {
		return nil, errors.Join(err, s.unwind(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Sidecar) start(ctx context.Context, c *config.Config, o Options) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("starting: %w", context.Cause(ctx))
	}
	places, err := makePlaces(ctx, c.Workdir, o.Log)
	if err != nil {
		return err
	}
	s.did("removing the directories", 2*time.Second, places.remove)

	proxy, err := egress.Listen(ctx, egress.Options{App: c.AppURL, Log: o.Log})
	if err != nil {
		return err
	}
	s.did("closing the egress proxy", 500*time.Millisecond, proxy.Close)

	s.browser, err = browser.Start(ctx, browser.Options{
		Profile:   places.profile,
		Proxy:     proxy.Addr(),
		Downloads: places.output,
		Headed:    c.Mode == config.Headed,
		Sandbox:   c.ChromiumSandbox,
		Log:       o.Log,
	})
	if err != nil {
		return err
	}
	s.did("closing the browser", 3*time.Second, s.browser.Close)
	s.browser.Restrict(c.AppURL)
	s.openApp(c.AppURL)

	set := tools.New(tools.Options{
		Browser: s.browser, App: c.AppURL, Capabilities: c.Capabilities, Output: places.output, Workdir: places.uploads,
	})
	return s.listen(ctx, c, o, mcp.New(mcp.Options{Version: o.Version, Tools: set, Log: o.Log}))
}

// listen opens the sidecar to its clients. When it stops, waiting calls are answered before the connections close.
func (s *Sidecar) listen(ctx context.Context, c *config.Config, o Options, gateway *mcp.Gateway) error {
	ln, bound, err := bind(ctx, c.Host, c.Port)
	if err != nil {
		return errors.Join(err, gateway.Close(context.WithoutCancel(ctx)))
	}
	s.port = int(bound.Port())
	s.server = server.Serve(ln, server.Options{
		Gate:    admit.New(c.Token.Reveal(), admit.Hosts(c.Host, bound, c.AllowedHosts)),
		Version: o.Version,
		MCP:     gateway,
		Limits:  server.DefaultLimits(),
		Log:     o.Log,
	})
	s.did("closing the connections", time.Second, s.server.Close)
	s.did("ending the waiting calls", time.Second, func(ctx context.Context) error {
		if err := gateway.Close(ctx); err != nil {
			s.log.Warn("ending the waiting calls", "cause", err) // what they wait for ends next
		}
		return nil
	})
	return nil
}

// bind listens on host and port, and returns the address that it got. For an IPv4 address that is IPv4 only: Go would
// take 0.0.0.0 for every IPv6 address as well.
func bind(ctx context.Context, host string, port int) (net.Listener, netip.AddrPort, error) {
	network := "tcp"
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		network = "tcp4"
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	ln, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("listening on %s: %w", address, err)
	}
	bound, err := netip.ParseAddrPort(ln.Addr().String())
	if err != nil {
		return nil, netip.AddrPort{}, errors.Join(fmt.Errorf("listening on %s: %w", address, err), ln.Close())
	}
	return ln, bound, nil
}

// openApp opens the app in the first tab, without waiting for it. An agent's first navigation takes its place.
func (s *Sidecar) openApp(app *url.URL) {
	pages := s.browser.Pages()
	if len(pages) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	done := make(chan struct{})
	opened := pages[0].Open(ctx, app.String()+"/")
	go func() {
		defer close(done)
		if err := opened(); err != nil {
			s.log.Warn("could not open "+app.String(), "cause", err)
		}
	}()
	s.did("opening the app", 500*time.Millisecond, func(ctx context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Port is the port that the sidecar listens on.
func (s *Sidecar) Port() int { return s.port }

// Wait waits for ctx's end, which is no error, or for a room that the sidecar can't go on without.
func (s *Sidecar) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.browser.Done():
		return ErrBrowserGone
	case <-s.server.Done():
		return errors.New("the HTTP server ended")
	}
}

// A whole stop takes no longer than stopLimit and what the steps that come after it need, leastLimit each: together less
// than ten seconds (contract: cli.stop-bounded).
const (
	stopLimit  = 8500 * time.Millisecond
	leastLimit = 300 * time.Millisecond
)

// Stop ends everything, the last started first, each with a time of its own so that one that hangs keeps no other from
// being ended. What could not be ended is in the error. Only the first call counts; the others wait for it.
func (s *Sidecar) Stop(ctx context.Context, reason string) error {
	s.stopping.Do(func() {
		s.log.Info("stopping: " + reason)
		s.stopped = s.unwind(ctx)
	})
	return s.stopped
}

func (s *Sidecar) did(ending string, limit time.Duration, end func(context.Context) error) {
	s.steps = append(s.steps, step{ending, limit, end})
}

// leftError says what a stop left behind.
type leftError struct{ cause error }

func (e *leftError) Error() string { return "stopping: " + e.cause.Error() }
func (e *leftError) Unwrap() error { return e.cause }

func (s *Sidecar) unwind(ctx context.Context) error {
	var left error
	end := time.Now().Add(stopLimit)
	for _, step := range slices.Backward(s.steps) {
		limited, cancel := context.WithTimeout(ctx, max(min(step.limit, time.Until(end)), leastLimit))
		if err := step.end(limited); err != nil {
			left = errors.Join(left, fmt.Errorf("%s: %w", step.ending, err))
		}
		cancel()
	}
	s.steps = nil
	if left != nil {
		return &leftError{left}
	}
	return nil
}
