package ingest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is an ingest that listens.
type Server struct {
	*Ingest
	url    string
	http   *http.Server
	served chan error
	unbind func() bool

	mu      sync.Mutex // guards closing
	closing bool
	active  sync.WaitGroup
}

// Start listens on addr ("127.0.0.1:0" for a free port) until Close, or until ctx ends. A TLS configuration makes it speak
// https; nil leaves it at http.
func Start(ctx context.Context, addr string, o Options, secure *tls.Config) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting the ingest: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("starting the ingest: %w", err)
	}
	s := &Server{Ingest: New(o), served: make(chan error, 1)}
	scheme := "http"
	if secure != nil {
		scheme = "https"
		listener = tls.NewListener(listener, secure)
	}
	s.url = scheme + "://" + listener.Addr().String() + s.o.Path
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // a target's broken connections are its own affair
	}
	go func() { s.served <- s.http.Serve(listener) }()
	s.unbind = context.AfterFunc(ctx, func() { _ = s.http.Close() })
	return s, nil
}

// URL is where posts go.
func (s *Server) URL() string { return s.url }

// Close breaks every connection, lets go what hangs, and waits until nothing runs any more. What came stays readable.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil
	}
	s.closing = true
	s.mu.Unlock()
	s.unbind()
	s.Heal()
	err := s.http.Close()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.active.Wait()
	if err != nil {
		return fmt.Errorf("closing the ingest: %w", err)
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return
	}
	s.active.Add(1)
	s.mu.Unlock()
	defer s.active.Done()
	s.ServeHTTP(w, r)
}
