package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A network is the internet of a test: it connects public addresses to listeners on 127.0.0.1 and records every
// connection that is asked of it. No packet leaves the machine.
type network struct {
	mu     sync.Mutex
	routes map[string]string // "93.184.216.34:80" to a listener's address, or to one of the words below
	dialed []string
}

const (
	refuses = "refuses"
	silent  = "silent"
	strays  = "strays" // the connection ends at another address
)

// farConn is a connection whose peer is called by its public address.
type farConn struct {
	*net.TCPConn
	remote net.Addr
}

func (c *farConn) RemoteAddr() net.Addr { return c.remote }

func (n *network) route(address, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.routes[address] = to
}

func (n *network) dials() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dialed)
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	to, known := n.routes[address]
	n.mu.Unlock()
	switch {
	case !known || to == refuses:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case to == silent:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	called := address
	if to == strays {
		to, called = n.routes["strays to"], "10.0.0.5:80"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, err
	}
	return &farConn{conn.(*net.TCPConn), net.TCPAddrFromAddrPort(netip.MustParseAddrPort(called))}, nil
}

// A zone gives the addresses of names.
type zone map[string][]netip.Addr

func (a zone) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	if addrs := a[name]; len(addrs) > 0 {
		return addrs, nil
	}
	return nil, errNoAddress
}

const (
	pubAddr  = "93.184.216.34"
	pubAddr2 = "93.184.216.35"
)

// A rig is a proxy with a network of its own.
type rig struct {
	*Proxy
	network *network
	log     *logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// quick are limits short enough to wait for.
func quick() limits {
	return limits{
		clients: 300, idle: 5 * time.Second, head: 300 * time.Millisecond, answer: 300 * time.Millisecond, patience: 300 * time.Millisecond, linger: 200 * time.Millisecond,
		connect: dialer{timeout: 400 * time.Millisecond, total: time.Second, stagger: 50 * time.Millisecond},
	}
}

// newRig starts a proxy for which pub.test is at pubAddr and pubAddr2 follows it in two.test. Tests may change o.
func newRig(t testing.TB, l limits, change func(*Options)) *rig {
	t.Helper()
	n := &network{routes: map[string]string{}}
	log := &logBuffer{}
	o := Options{
		Resolver: zone{
			"pub.test": addrs(pubAddr), "two.test": addrs(pubAddr, pubAddr2), "private.test": addrs("10.0.0.5"),
			"mixed.test": addrs(pubAddr, "10.0.0.5"),
		},
		Dial: n.dial,
		Log:  slog.New(slog.NewTextHandler(log, nil)),
	}
	if change != nil {
		change(&o)
	}
	p, err := listen(t.Context(), o, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Errorf("closing the proxy: %v", err)
		}
	})
	return &rig{p, n, log}
}

// connect opens a connection to the proxy with a deadline for all that follows.
func (r *rig) connect(t testing.TB) *client {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{conn.(*net.TCPConn), bufio.NewReader(conn)}
}

// A client speaks raw HTTP to the proxy.
type client struct {
	*net.TCPConn
	in *bufio.Reader
}

func (c *client) send(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(c.TCPConn, text); err != nil {
		t.Fatal(err)
	}
}

// response reads one response to a request with the given method, and its body.
func (c *client) response(t testing.TB, method string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("reading the proxy's response: %v", err)
	}
	if method == "CONNECT" && resp.StatusCode == http.StatusOK {
		return resp, ""
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the proxy's response: %v", err)
	}
	return resp, string(body)
}

// ended checks that the proxy has closed the connection.
func (c *client) ended(t testing.TB) {
	t.Helper()
	if b, err := c.in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: read %q, %v", b, err)
	}
}

// ask sends one raw request on a connection of its own and returns what comes back.
func (r *rig) ask(t testing.TB, text string) (*http.Response, string) {
	t.Helper()
	c := r.connect(t)
	c.send(t, text)
	method, _, _ := strings.Cut(text, " ")
	return c.response(t, method)
}

// listenLoopback returns a listener on 127.0.0.1 that is closed after the test.
func listenLoopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// serveConns serves each connection to a listener on 127.0.0.1 by handle and returns the listener's address.
func serveConns(t testing.TB, handle func(conn *net.TCPConn)) string {
	t.Helper()
	l := listenLoopback(t)
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() {
				defer conn.Close()
				handle(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// serveHTTP serves HTTP on 127.0.0.1 and returns its address.
func serveHTTP(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	l := listenLoopback(t)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// httpClient is an ordinary client behind the proxy.
func (r *rig) httpClient(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: r.Addr()}), DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 60 * time.Second}
}

// flip gives a public address at every odd look-up and a private one at every even one.
type flip struct{ lookups *atomic.Int32 }

func (f flip) Lookup(context.Context, string) ([]netip.Addr, error) {
	if f.lookups.Add(1)%2 == 1 {
		return addrs(pubAddr), nil
	}
	return addrs("10.0.0.5"), nil
}
