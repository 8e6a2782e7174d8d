package egress

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// forbiddenAuthorities are refused by every way.
var forbiddenAuthorities = map[string]string{
	"127.0.0.1:80":          "127.0.0.1:80 is a loopback address",
	"127.1:80":              "127.0.0.1:80 is a loopback address",
	"2130706433:80":         "127.0.0.1:80 is a loopback address",
	"0177.1:80":             "127.0.0.1:80 is a loopback address",
	"LOCALHOST.:80":         "localhost:80 is a local host name",
	"x.localhost.:80":       "x.localhost:80 is a local host name",
	"intranet:80":           "intranet:80 is a local host name",
	"169.254.169.254:80":    "169.254.169.254:80 is a link-local address",
	"168.63.129.16:80":      "168.63.129.16:80 is a cloud platform's own address",
	"[::1]:80":              "[::1]:80 is a loopback address",
	"[::ffff:10.0.0.5]:80":  "[::ffff:10.0.0.5]:80 is a private address",
	"[64:ff9b::7f00:1]:80":  "[64:ff9b::7f00:1]:80 is a loopback address inside an IPv6 one",
	"private.test:8080":     "private.test:8080 resolves to a private address",
	"mixed.test:80":         "mixed.test:80 resolves to a private address",
	"unknown.test:80":       "unknown.test:80 does not resolve",
	"PRIVATE.Test.:80":      "private.test:80 resolves to a private address",
	"[fe80::1]:80":          "[fe80::1]:80 is a link-local address",
	"0.0.0.0:80":            "0.0.0.0:80 is an address of this network",
	"255.255.255.255:65535": "255.255.255.255:65535 is a reserved or broadcast address",
}

func TestAPlainRequestIsRefusedWithItsReason(t *testing.T) {
	r := newRig(t, quick(), nil)
	for authority, text := range forbiddenAuthorities {
		resp, body := r.ask(t, "GET http://"+authority+"/secret?q=secret HTTP/1.1\r\nHost: pub.test\r\n\r\n")
		if resp.StatusCode != http.StatusForbidden || body != "Blocked by the sandbox browser: "+text+"\n" || !resp.Close ||
			resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: got %d %v %q, want 403 %q", authority, resp.StatusCode, resp.Header, body, text)
		}
	}
	if dials := r.network.dials(); len(dials) > 0 {
		t.Errorf("dialled %v", dials)
	}
}

func TestAConnectIsRefused(t *testing.T) {
	r := newRig(t, quick(), nil)
	refused := []string{
		"[[pub.test]]:80", "[127.0.0.1]:80", "[pub.test]:80", "a@10.0.0.5:80", "10.0.0.5 :80", "pub.test:65616", "pub.test:-1", "pub.test:0", "pub.test:80/x", "pub.test", "",
		"127%2e0%2e0%2e1:80", "127。0。0。1:80", "１２７.0.0.1:80", "127.0.0.1\x00:80", "[::1%25lo]:80", "[::1%25.pub.test]:80", "http://pub.test:80", "/", "*", "1.2.3.4.5:80",
	}
	for authority := range forbiddenAuthorities {
		refused = append(refused, authority)
	}
	for _, authority := range refused {
		c := r.connect(t)
		c.send(t, "CONNECT "+authority+" HTTP/1.1\r\nHost: pub.test\r\n\r\n")
		resp, body := c.response(t, "CONNECT")
		if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadRequest || body != "" && resp.Header.Get("Content-Length") == "0" || !resp.Close {
			t.Errorf("%q: got %d %v %q, want a bare refusal", authority, resp.StatusCode, resp.Header, body)
		}
		c.ended(t)
	}
	if dials := r.network.dials(); len(dials) > 0 {
		t.Errorf("dialled %v", dials)
	}
	r.network.route(pubAddr+":443", serveConns(t, func(*net.TCPConn) {}))
	if resp, _ := r.ask(t, "CONNECT pub.test:443 HTTP/1.1\r\n\r\n"); resp.StatusCode != http.StatusOK {
		t.Errorf("after them, a good CONNECT got %d", resp.StatusCode)
	}
}

func TestTheProxysOwnPortIsNoWayRound(t *testing.T) {
	r := newRig(t, quick(), nil)
	for _, request := range []string{
		"GET http://" + r.Addr() + "/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT " + r.Addr() + " HTTP/1.1\r\n\r\n",
	} {
		if resp, _ := r.ask(t, request); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%q got %d", request, resp.StatusCode)
		}
	}
	for request, status := range map[string]int{
		"GET / HTTP/1.1\r\nHost: pub.test\r\n\r\n":                                                400,
		"GET https://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n\r\n":                                400,
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":                                    400,
		"GET http://pub.test/ HTTP/1.1\r\nX: " + strings.Repeat("x", maxRequestHead) + "\r\n\r\n": 431,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                        505,
	} {
		if resp, _ := r.ask(t, request); resp.StatusCode != status || !resp.Close {
			t.Errorf("%.60q got %d, want %d", request, resp.StatusCode, status)
		}
	}
	if _, body := r.ask(t, "GET / HTTP/1.1\r\nHost: pub.test\r\n\r\n"); body != "not a proxy request\n" {
		t.Errorf("an origin-form request got %q", body)
	}
	if _, body := r.ask(t, "GET HTTPS://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n\r\n"); body != "https: requests are not proxied\n" {
		t.Errorf("an https request got %q", body)
	}
}

func TestRebindingGainsNothing(t *testing.T) {
	var lookups atomic.Int32
	r := newRig(t, quick(), func(o *Options) { o.Resolver = flip{&lookups} })
	r.network.route(pubAddr+":80", serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }))
	for i, want := range []int{200, 403, 200, 403} {
		if resp, _ := r.ask(t, "GET http://flip.test/ HTTP/1.1\r\nHost: flip.test\r\n\r\n"); resp.StatusCode != want {
			t.Errorf("request %d got %d, want %d", i, resp.StatusCode, want)
		}
		if n := lookups.Load(); n != int32(i+1) {
			t.Errorf("request %d made look-up %d", i, n)
		}
	}
	for _, address := range r.network.dials() {
		if address != pubAddr+":80" {
			t.Errorf("dialled %s", address)
		}
	}
}

func TestAConnectionThatEndedElsewhereIsDropped(t *testing.T) {
	r := newRig(t, quick(), nil)
	reached := make(chan string, 10)
	r.network.route("strays to", serveConns(t, func(conn *net.TCPConn) {
		b := make([]byte, 100)
		if n, _ := conn.Read(b); n > 0 {
			reached <- string(b[:n])
		}
	}))
	r.network.route(pubAddr+":80", strays)
	for _, request := range []string{"GET http://pub.test/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT pub.test:80 HTTP/1.1\r\n\r\n"} {
		if resp, _ := r.ask(t, request); resp.StatusCode != http.StatusBadGateway {
			t.Errorf("%q got %d, want 502", request, resp.StatusCode)
		}
	}
	select {
	case got := <-reached:
		t.Errorf("the wrong address was sent %q", got)
	default:
	}
}

func TestTheAppIsReachedOnItsOwnPortOnly(t *testing.T) {
	app := serveHTTP(t, func(w http.ResponseWriter, req *http.Request) { _, _ = w.Write([]byte(req.Host)) })
	r := newRig(t, quick(), func(o *Options) { o.App, o.Dial = &url.URL{Scheme: "http", Host: app}, nil })
	if resp, body := r.ask(t, "GET http://"+app+"/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != http.StatusOK || body != app {
		t.Errorf("the app got %d %q, want its own authority %s", resp.StatusCode, body, app)
	}
	_, port, _ := strings.Cut(app, ":")
	for _, authority := range []string{"127.0.0.1:1", "127.0.0.1:80", "localhost:" + port, "127.1:" + port, "[::1]:" + port, "[::ffff:127.0.0.1]:" + port} {
		if resp, _ := r.ask(t, "GET http://"+authority+"/ HTTP/1.1\r\nHost: "+app+"\r\n\r\n"); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s got %d, want 403", authority, resp.StatusCode)
		}
	}
}

func TestTheEnvironmentsProxyIsIgnored(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://10.0.0.1:3128")
	}
	t.Setenv("NO_PROXY", "private.test,127.0.0.1")
	r := newRig(t, quick(), nil)
	r.network.route(pubAddr+":80", serveHTTP(t, func(http.ResponseWriter, *http.Request) {}))
	if resp, _ := r.ask(t, "GET http://pub.test/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != http.StatusOK {
		t.Errorf("a public host got %d", resp.StatusCode)
	}
	if resp, _ := r.ask(t, "GET http://private.test/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a private host got %d", resp.StatusCode)
	}
	if dials := strings.Join(r.network.dials(), " "); dials != pubAddr+":80" {
		t.Errorf("dialled %s", dials)
	}
}

func TestTheLogNamesHostReasonAndCountOnly(t *testing.T) {
	r := newRig(t, quick(), nil)
	for range 5 {
		r.ask(t, "GET http://private.test:81/secret-path?secret-query HTTP/1.1\r\nHost: x\r\nCookie: secret-cookie\r\n\r\n")
	}
	r.ask(t, "CONNECT user:secret-password@10.0.0.5:80 HTTP/1.1\r\n\r\n")
	r.denials.report()
	got := r.log.String()
	if strings.Contains(got, "secret") || strings.Count(got, "private.test") != 2 ||
		!strings.Contains(got, `host=private.test reason="resolves to a private address" count=1`) ||
		!strings.Contains(got, `host=private.test reason="resolves to a private address" count=4`) || !strings.Contains(got, "host=(malformed)") {
		t.Errorf("the log is %s", got)
	}
}

func TestTheLogIsNotFlooded(t *testing.T) {
	r := newRig(t, quick(), nil)
	for i := range 1000 {
		r.denials.add(strings.Repeat("x", i+1), "is a loopback address")
	}
	r.denials.report()
	if got := r.log.String(); strings.Count(got, "\n") != r.denials.most+1 || !strings.Contains(got, `host=(others) reason="too many different hosts to name" count=968`) {
		t.Errorf("the log has %d lines: %s", strings.Count(got, "\n"), got)
	}
	r.denials.report()
	r.denials.add("again", "is a loopback address")
	if got := r.log.String(); !strings.Contains(got, "host=again") {
		t.Error("the next period doesn't begin afresh")
	}
}

func TestTheLogIsCompleteAfterClose(t *testing.T) {
	r := newRig(t, quick(), nil)
	r.denials.add("a.test", "x")
	r.denials.add("a.test", "x")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.log.String(); strings.Count(got, "a.test") != 2 {
		t.Errorf("the log is %s", got)
	}
}

func TestARefusedClientMaySendOnWhileItReadsItsAnswer(t *testing.T) {
	l := quick()
	l.linger = 5 * time.Second
	r := newRig(t, l, nil)
	c := r.connect(t)
	c.send(t, "POST http://10.0.0.5/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
	if resp, _ := c.response(t, "POST"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %d, want 403", resp.StatusCode)
	}
	c.ended(t)
	for range 100 {
		c.send(t, strings.Repeat("x", 1000))
	}
	_ = c.CloseWrite()
}

func TestASlowHeadIsNotWaitedFor(t *testing.T) {
	r := newRig(t, quick(), nil)
	c := r.connect(t)
	c.send(t, "GET http://pub.test/ HTTP/1.1\r\n")
	began := time.Now()
	c.ended(t)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the connection was held for %v", took)
	}
}
