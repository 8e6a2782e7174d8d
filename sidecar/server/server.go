// Package server is the sidecar's HTTP surface: it reads requests strictly, bounds them in size and time, lets
// package admit judge them, and answers in JSON.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/admit"
)

// Limits bound what one client can take. Each must be positive.
type Limits struct {
	HeadBytes   int           // a request's line and headers
	BodyBytes   int64         // a request's body
	Connections int           // open at once; one more is answered 503
	HeadTime    time.Duration // from a connection's opening to its first complete head
	IdleTime    time.Duration // from an answer to the next complete head
	BodyTime    time.Duration // for a whole body
	WriteTime   time.Duration // for each piece of an answer
	LingerBytes int64         // read and dropped after a refusal, so that the client can finish and read it
	LingerTime  time.Duration // for that
}

// DefaultLimits cut a client that sends a byte a second within 30 s.
func DefaultLimits() Limits {
	return Limits{
		HeadBytes:   32 << 10,
		BodyBytes:   4 << 20,
		Connections: 512,
		HeadTime:    10 * time.Second,
		IdleTime:    30 * time.Second,
		BodyTime:    30 * time.Second,
		WriteTime:   30 * time.Second,
		LingerBytes: 64 << 20,
		LingerTime:  10 * time.Second,
	}
}

// Options say what is served, and to whom.
type Options struct {
	Gate    *admit.Gate
	Version string       // what /health reports
	MCP     http.Handler // serves every method of /mcp; a request's body is complete and in memory
	Limits  Limits
	Log     *slog.Logger
}

// Server answers requests until it is closed.
type Server struct {
	http *http.Server
	ln   *listener
	stop context.CancelFunc
	done chan struct{}
	err  error // why serving ended; valid after done
}

type connKey struct{}

// Serve answers the requests that come on ln, which it owns from now on.
func Serve(ln net.Listener, o Options) *Server {
	stopping, stop := context.WithCancel(context.Background())
	s := &Server{
		ln:   &listener{Listener: ln, limits: o.Limits, stopping: stopping, conns: make(map[*conn]struct{})},
		stop: stop,
		done: make(chan struct{}),
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler:                      &handler{o},
		DisableGeneralOptionsHandler: true, // net/http would answer OPTIONS * before anyone is admitted
		Protocols:                    protocols,
		ReadHeaderTimeout:            o.Limits.HeadTime,
		IdleTimeout:                  o.Limits.IdleTime,
		MaxHeaderBytes:               2 * o.Limits.HeadBytes, // never met: the listener's own bound comes first
		ErrorLog:                     slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	go func() {
		defer close(s.done)
		s.err = s.http.Serve(s.ln)
	}()
	return s
}

// Done is closed when no more connections are taken: after Close, or because the listener failed.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close takes no more connections, lets running requests finish until ctx ends, then cuts them, which is no error: a
// client can always take longer than a stop may.
func (s *Server) Close(ctx context.Context) error {
	s.stop()
	s.ln.closeUnused()
	err := s.http.Shutdown(ctx)
	if err != nil && ctx.Err() != nil {
		err = s.http.Close()
	}
	<-s.done
	if !errors.Is(s.err, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serving HTTP: %w", s.err))
	}
	return err
}
