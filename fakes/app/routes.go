package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// route is a place that a spec gave a handler. An empty host is any.
type route struct{ host, path string }

// Handle gives a path at a host a handler of its own, ahead of pages and scripted routes. host is a name or address with
// port ("pub.test:8080", "[::1]:8080"), without ("pub.test", for every port), or "" for any. The path matches as it is;
// one that ends in / also matches all below it, the longest first. A place can be given once, until Reset.
func (s *Sites) Handle(host, path string, h http.Handler) error {
	var faults []error
	if strings.ContainsAny(host, "/ @") {
		faults = append(faults, fmt.Errorf("host: %q isn't a name or address with or without port", host))
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#") {
		faults = append(faults, fmt.Errorf("path: %q doesn't begin with / or has a query", path))
	}
	if h == nil {
		faults = append(faults, errors.New("handler: is nil"))
	}
	place := route{strings.ToLower(host), path}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.routes[place]; taken {
		faults = append(faults, errors.New("this place has a handler already"))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("handling %q at host %q: %w", path, host, err)
	}
	s.routes[place] = h
	return nil
}

// handler serves one listener: writes down, then answers.
func (s *Sites) handler(listener netip.AddrPort) http.Handler {
	rest := s.standing()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			return // the connection is being closed
		}
		defer s.running.Done()
		s.received(listener, r)
		if h := s.find(r.Host, r.URL.Path); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// enter lets a handler run, so that Close waits for it; false when Close waits already.
func (s *Sites) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.running.Add(1)
	return true
}

func (s *Sites) find(host, path string) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, spelling := range append(spellings(host), "") {
		if h, ok := s.routes[route{spelling, path}]; ok {
			return h
		}
		for below := path; strings.Contains(below, "/"); {
			below = below[:strings.LastIndexByte(below, '/')]
			if h, ok := s.routes[route{spelling, below + "/"}]; ok {
				return h
			}
		}
	}
	return nil
}

// spellings are the ways in which Handle may have named a Host: with its port, and without.
func spellings(host string) []string {
	host = strings.ToLower(host)
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return []string{host}
	}
	if strings.Contains(name, ":") {
		return []string{host, "[" + name + "]", name}
	}
	return []string{host, name}
}

// standing are the routes that are always there.
func (s *Sites) standing() http.Handler {
	scripted := map[string]http.HandlerFunc{
		"/any":             serveAny,
		"/redirect":        serveRedirect,
		"/redirect-chain":  serveRedirectChain,
		"/refresh":         serveRefresh,
		"/meta-refresh":    serveMetaRefresh,
		"/script-redirect": serveScriptRedirect,
		"/slow":            serveSlow,
		"/stream":          serveStream,
		"/bytes":           serveBytes,
		"/echo":            serveEcho,
		"/ws":              serveWebSocket,
		"/sse":             serveEvents,
		"/cors":            serveText,
		"/status":          serveStatus,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := scripted[r.URL.Path]; ok {
			permit(h).ServeHTTP(w, r)
			return
		}
		switch name, ok := strings.CutPrefix(r.URL.Path, "/pages/"); {
		case ok:
			s.page(w, r, name)
		case r.URL.Path == "/":
			s.page(w, r, "index.html")
		default:
			http.NotFound(w, r)
		}
	})
}

// permit lets every origin read the answer, redirects included, and answers preflights (Fetch standard §3.3).
func permit(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" {
			origin = "*"
		} else {
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "*")
		w.Header().Set("Vary", "Origin")
		w.Header().Set("Cache-Control", "no-store")
		asked := r.Header.Get("Access-Control-Request-Method")
		if r.Method != http.MethodOptions || asked == "" {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Methods", asked)
		if headers := r.Header.Get("Access-Control-Request-Headers"); headers != "" {
			w.Header().Set("Access-Control-Allow-Headers", headers)
		}
		w.Header().Set("Access-Control-Allow-Private-Network", "true")
		w.WriteHeader(http.StatusNoContent)
	})
}
