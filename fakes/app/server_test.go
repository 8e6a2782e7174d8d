package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"
)

func listen(addr string) Listen { return Listen{Addr: netip.MustParseAddrPort(addr)} }

func start(t *testing.T, opts Options, listens ...Listen) *Sites {
	t.Helper()
	if len(listens) == 0 {
		listens = []Listen{listen("127.0.0.1:0")}
	}
	s, err := Start(t.Context(), listens, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client follows no redirect and keeps no connection.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, ServerName: "app.test"},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

type answer struct {
	*http.Response
	body string
}

func get(t *testing.T, url string, header ...string) answer {
	t.Helper()
	return do(t, http.MethodGet, url, "", header...)
}

// do sends a request with pairs of header names and values; "Host" is one of them.
func do(t *testing.T, method, url, body string, header ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		} else {
			request.Header.Set(header[i], header[i+1])
		}
	}
	response, err := client(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(text)}
}

func words(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func TestRoutesOfAHostComeFirst(t *testing.T) {
	s := start(t, Options{}, listen("127.0.0.1:0"), listen("[::1]:0"))
	port := s.Listens()[0].Addr.String()
	for _, r := range []struct{ host, path, says string }{
		{"", "/x", "any host"},
		{"A.test", "/x", "a.test"},
		{"a.test:81", "/x", "a.test:81"},
		{"", "/echo", "instead of the scripted route"},
		{"", "/deep/", "below deep"},
		{"", "/deep/er/", "below deeper"},
		{port, "/x", "the first listener"},
		{"::1", "/x", "IPv6"},
		{"[::1]", "/y", "IPv6 in brackets"},
	} {
		if err := s.Handle(r.host, r.path, words(r.says)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		listener         int
		host, path, want string
	}{
		{0, "b.test", "/x", "any host"},
		{0, "a.TEST", "/x", "a.test"},
		{0, "a.test:80", "/x", "a.test"},
		{0, "a.test:81", "/x", "a.test:81"},
		{0, port, "/x", "the first listener"},
		{1, s.Listens()[1].Addr.String(), "/x", "IPv6"},
		{1, s.Listens()[1].Addr.String(), "/y", "IPv6 in brackets"},
		{0, "b.test", "/echo", "instead of the scripted route"},
		{0, "b.test", "/deep/a/b", "below deep"},
		{0, "b.test", "/deep/er/b", "below deeper"},
		{0, "b.test", "/deep/er", "below deep"},
		{0, "b.test", "/deep", "404 page not found\n"},
		{0, "b.test", "/x/y", "404 page not found\n"},
	} {
		if got := get(t, s.URL(c.listener, c.path), "Host", c.host).body; got != c.want {
			t.Errorf("%s at %s: got %q, want %q", c.path, c.host, got, c.want)
		}
	}
	s.Reset()
	if got := get(t, s.URL(0, "/x")).StatusCode; got != http.StatusNotFound {
		t.Errorf("after Reset: got %d, want 404", got)
	}
}

func TestTheLog(t *testing.T) {
	s := start(t, Options{TLS: &tls.Config{Certificates: []tls.Certificate{certificate(t)}}},
		listen("127.0.0.1:0"), Listen{Addr: netip.MustParseAddrPort("127.0.0.1:0"), TLS: true})
	before := time.Now()
	do(t, http.MethodPost, s.URL(0, "/a%20b/?x=1&y"), "body", "Host", "One.test:99", "X-Mark", "m")
	get(t, s.URL(1, "/echo"))

	log := s.Requests()
	if len(log) != 2 {
		t.Fatalf("got %d requests, want 2", len(log))
	}
	first, second := log[0], log[1]
	if first.Method != http.MethodPost || first.Host != "One.test:99" || first.Target != "/a%20b/?x=1&y" || first.Path != "/a b/" ||
		first.Header.Get("X-Mark") != "m" || first.Proto != "HTTP/1.1" || first.SNI != "" {
		t.Errorf("got %+v", first)
	}
	if first.Listener != s.Listens()[0].Addr || first.Remote.Port() == 0 || first.Time.Before(before) {
		t.Errorf("got %+v, want the listener, the client and the time", first)
	}
	if second.Proto != "HTTP/2.0" || second.SNI != "app.test" || second.Listener != s.Listens()[1].Addr {
		t.Errorf("got %+v, want HTTP/2 under TLS", second)
	}
	for host, want := range map[string]int{"": 1, "one.TEST": 1, "one.test:99": 1, "one.test:98": 0, "test": 0} {
		if got := len(s.RequestsTo(host, "/a b/")); got != want {
			t.Errorf("requests to %q: got %d, want %d", host, got, want)
		}
	}
	if connections := s.Connections(); len(connections) != 2 || connections[0].Remote != first.Remote {
		t.Errorf("got the connections %v, want those of the two requests", connections)
	}
	first.Header.Set("X-Mark", "changed")
	if s.Requests()[0].Header.Get("X-Mark") != "m" {
		t.Error("the log can be changed from outside")
	}
	s.Reset()
	if len(s.Requests())+len(s.Connections()) != 0 {
		t.Error("after Reset the log isn't empty")
	}
}

func TestAConnectionWithoutARequestIsWrittenDown(t *testing.T) {
	s := start(t, Options{})
	conn, err := net.Dial("tcp", s.Listens()[0].Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	NewWithT(t).Eventually(s.Connections, "5s", "5ms").Should(HaveLen(1))
}

func TestPages(t *testing.T) {
	s := start(t, Options{Pages: fstest.MapFS{
		"index.html":   {Data: []byte(`<p>{{with .}}data{{else}}no data{{end}}`)},
		"broken.html":  {Data: []byte(`{{`)},
		"style.css":    {Data: []byte(`p {}`)},
		"sub/sub.html": {Data: []byte(`sub`)},
	}})
	for _, c := range []struct {
		path        string
		status      int
		contentType string
		body        string
	}{
		{"/", 200, "text/html; charset=utf-8", "<p>no data"},
		{"/pages/index.html", 200, "text/html; charset=utf-8", "<p>no data"},
		{"/pages/sub/sub.html", 200, "text/html; charset=utf-8", "sub"},
		{"/pages/style.css", 200, "text/css; charset=utf-8", "p {}"},
		{"/pages/broken.html", 500, "text/plain; charset=utf-8", "parsing broken.html"},
		{"/pages/none.html", 404, "text/plain; charset=utf-8", "404"},
		{"/pages/sub", 404, "text/plain; charset=utf-8", "404"},
		{"/pages/%2e%2e/secret", 404, "text/plain; charset=utf-8", "404"},
	} {
		got := get(t, s.URL(0, c.path))
		if got.StatusCode != c.status || got.Header.Get("Content-Type") != c.contentType || !strings.HasPrefix(got.body, c.body) {
			t.Errorf("%s: got %d %s %q, want %d %s %q",
				c.path, got.StatusCode, got.Header.Get("Content-Type"), got.body, c.status, c.contentType, c.body)
		}
		if got.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: any origin may read a page", c.path)
		}
	}
	if got := get(t, start(t, Options{}).URL(0, "/")); got.StatusCode != http.StatusNotFound {
		t.Errorf("without pages: got %d, want 404", got.StatusCode)
	}
}

func TestPageServesARenderer(t *testing.T) {
	s := start(t, Options{})
	for path, page := range map[string]Renderer{"/good": renderer("<p>good"), "/bad": renderer("")} {
		if err := s.Handle("", path, Page(page)); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, s.URL(0, "/good")); got.body != "<p>good" || got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("got %q as %s", got.body, got.Header.Get("Content-Type"))
	}
	if got := get(t, s.URL(0, "/bad")); got.StatusCode != http.StatusInternalServerError || got.body != "nothing to render\n" {
		t.Errorf("got %d %q, want the fault", got.StatusCode, got.body)
	}
}

type renderer string

func (r renderer) Render(w io.Writer) error {
	_, err := io.WriteString(w, string(r))
	if r == "" {
		err = errors.New("nothing to render")
	}
	return err
}

func TestCloseEndsWhatGoesOn(t *testing.T) {
	s, err := Start(t.Context(), []Listen{listen("127.0.0.1:0")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var clients sync.WaitGroup
	ended := make(chan string, 3)
	for _, path := range []string{"/slow?ms=60000", "/sse", "/stream?chunks=1000&interval=60000"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(0, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := client(t)
		clients.Go(func() {
			if response, err := browser.Do(request); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			ended <- path
		})
	}
	NewWithT(t).Eventually(s.Requests, "5s", "5ms").Should(HaveLen(3))
	began := time.Now()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > drain+time.Second {
		t.Errorf("Close took %s", took)
	}
	clients.Wait()
	if ctx.Err() != nil {
		t.Error("a client wasn't let go")
	}
	if len(s.Requests()) != 3 {
		t.Error("the log can't be read after Close")
	}
}

func TestCloseCutsOffAClientThatNeverReads(t *testing.T) {
	s, err := Start(t.Context(), []Listen{listen("127.0.0.1:0")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.Listens()[0].Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /bytes?n=1000000000 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > drain+2*time.Second {
		t.Errorf("Close took %s", took)
	}
}

func TestBadInputIsNamed(t *testing.T) {
	s := start(t, Options{})
	taken := s.Listens()[0]
	for _, c := range []struct {
		listens []Listen
		opts    Options
		want    string
	}{
		{nil, Options{}, "listeners: none given"},
		{[]Listen{{}}, Options{}, "listeners[0].addr: is the zero value"},
		{[]Listen{{Addr: taken.Addr, TLS: true}}, Options{}, "listeners[0].tls: is set, but Options.TLS has no certificate"},
		{[]Listen{listen("[::1]:0"), taken}, Options{}, "listening on " + taken.Addr.String()},
	} {
		other, err := Start(t.Context(), c.listens, c.opts)
		if err == nil {
			_ = other.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", err, c.want)
		}
	}
	if err := s.Handle("", "/twice", words("")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, path string
		handler    http.Handler
		want       string
	}{
		{"http://a.test", "/", words(""), `host: "http://a.test"`},
		{"", "no-slash", words(""), `path: "no-slash"`},
		{"", "/a?b", words(""), `path: "/a?b"`},
		{"", "/nil", nil, "handler: is nil"},
		{"", "/twice", words(""), "has a handler already"},
	} {
		if err := s.Handle(c.host, c.path, c.handler); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Handle(%q, %q): got %v, want it to say %q", c.host, c.path, err, c.want)
		}
	}
}

// certificate signs for itself.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"app.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
