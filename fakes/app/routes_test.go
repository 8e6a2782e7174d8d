package app

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/browser-sidecar/conformance/fixtures/pages"
)

func TestRedirectsKeepTheAddressAsItIs(t *testing.T) {
	s := start(t, Options{})
	for _, to := range []string{"http://127.1:8080/a?b=c#d", `http:\\app\@pub`, "//0177.1/", "/next", "file:///etc/hostname", `a"b<c>'d`} {
		escaped := url.QueryEscape(to)
		for _, code := range []int{301, 302, 303, 307, 308} {
			got := get(t, fmt.Sprintf("%s?to=%s&code=%d", s.URL(0, "/redirect"), escaped, code))
			if got.StatusCode != code || got.Header.Get("Location") != to {
				t.Errorf("got %d to %q, want %d to %q", got.StatusCode, got.Header.Get("Location"), code, to)
			}
		}
		if got := get(t, s.URL(0, "/redirect?to="+escaped)).StatusCode; got != 302 {
			t.Errorf("without a code: got %d, want 302", got)
		}
		if got := get(t, s.URL(0, "/refresh?delay=1&to="+escaped)).Header.Get("Refresh"); got != "1; url="+to {
			t.Errorf("Refresh: got %q, want %q", got, "1; url="+to)
		}
	}
	meta := get(t, s.URL(0, "/meta-refresh?to="+url.QueryEscape(`http://a.test/"><script>`))).body
	if !strings.Contains(meta, `content="0; url=http://a.test/&#34;&gt;&lt;script&gt;"`) {
		t.Errorf("meta refresh: got %s", meta)
	}
	script := get(t, s.URL(0, "/script-redirect?to="+url.QueryEscape(`http://a.test/?a=1&b="</script>`))).body
	if !strings.Contains(script, `location = "http://a.test/?a=1\u0026b=\"\u003c/script\u003e";`) {
		t.Errorf("script redirect: got %s", script)
	}
}

func TestAChainHasAsManyRedirectsAsAsked(t *testing.T) {
	s := start(t, Options{})
	at, hops := "/redirect-chain?n=10&code=307&to="+url.QueryEscape("http://end.test/?a=b&c"), 0
	for strings.HasPrefix(at, "/") {
		got := get(t, s.URL(0, at))
		if got.StatusCode != http.StatusTemporaryRedirect || hops > 10 {
			t.Fatalf("hop %d: got %d", hops, got.StatusCode)
		}
		at = got.Header.Get("Location")
		hops++
	}
	if hops != 10 || at != "http://end.test/?a=b&c" {
		t.Errorf("got %d redirects to %s, want 10", hops, at)
	}
}

func TestSlowAnswersLate(t *testing.T) {
	s := start(t, Options{})
	began := time.Now()
	if got := get(t, s.URL(0, "/slow?ms=120")); got.body != "after 120ms\n" || time.Since(began) < 120*time.Millisecond {
		t.Errorf("got %q after %s", got.body, time.Since(began))
	}
}

func TestStreamsArriveAsTheyAreSent(t *testing.T) {
	s := start(t, Options{})
	for path, want := range map[string][]string{
		"/stream?chunks=2&interval=60000": {"chunk 1"},
		"/sse?events=2&interval=60000":    {"id: 1", "data: event 1", ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(0, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(response.Body)
		for _, line := range want {
			if !lines.Scan() || lines.Text() != line { // the next part comes in a minute: only a flush brings this one
				t.Errorf("%s: got %q and %v, want %q", path, lines.Text(), lines.Err(), line)
			}
		}
		_ = response.Body.Close()
	}
	if got := get(t, s.URL(0, "/stream?chunks=3&interval=1")).body; got != "chunk 1\nchunk 2\nchunk 3\n" {
		t.Errorf("got %q", got)
	}
}

func TestBytesAreDeterministic(t *testing.T) {
	s := start(t, Options{})
	got := get(t, s.URL(0, "/bytes?n=300000&seed=7"))
	sum := sha256.Sum256([]byte(got.body))
	if len(got.body) != 300_000 || got.ContentLength != 300_000 || hex.EncodeToString(sum[:]) != BytesSHA256(300_000, 7) {
		t.Errorf("got %d bytes, announced %d, with %x", len(got.body), got.ContentLength, sum)
	}
	if BytesSHA256(300_000, 8) == BytesSHA256(300_000, 7) || BytesSHA256(299_999, 7) == BytesSHA256(300_000, 7) {
		t.Error("other bytes have the same sum")
	}
	// Evidence of other runs names such sums: they must not change.
	if got, want := BytesSHA256(1024, 0), "670b0a52e84a4ce6c747391e8e716dc92e254983b273e27f432366589f321816"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEcho(t *testing.T) {
	s := start(t, Options{})
	for body, binary := range map[string]bool{"text ü": false, "\xff\x00": true} {
		got := do(t, http.MethodPut, s.URL(0, "/echo?a=b"), body, "Host", "h.test", "X-Mark", "m", "Proxy-Authorization", "p")
		var echo Echo
		if err := json.Unmarshal([]byte(got.body), &echo); err != nil {
			t.Fatal(err)
		}
		if echo.Method != http.MethodPut || echo.Host != "h.test" || echo.Target != "/echo?a=b" || echo.Proto != "HTTP/1.1" ||
			echo.Header.Get("X-Mark") != "m" || echo.Header.Get("Proxy-Authorization") != "p" {
			t.Errorf("got %+v", echo)
		}
		if remote, err := netip.ParseAddrPort(echo.Remote); err != nil || remote.Addr().String() != "127.0.0.1" {
			t.Errorf("got the remote address %q", echo.Remote)
		}
		if text := echo.Body + string(echo.Binary); text != body || (len(echo.Binary) > 0) != binary {
			t.Errorf("got the body %q and %q, want %q", echo.Body, echo.Binary, body)
		}
	}
	if got := do(t, http.MethodPost, s.URL(0, "/echo"), strings.Repeat("x", maxEcho+1)).StatusCode; got != http.StatusBadRequest {
		t.Errorf("a body that is too large: got %d, want 400", got)
	}
}

func TestTheSocketEchoesForAnyOrigin(t *testing.T) {
	s := start(t, Options{})
	for _, path := range []string{"/ws", "/any?way=websocket"} {
		conn, response, err := websocket.Dial(t.Context(), s.URL(0, path), &websocket.DialOptions{
			HTTPHeader: http.Header{"Origin": {"http://else.test"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if response.Body != nil {
			_ = response.Body.Close()
		}
		conn.SetReadLimit(-1)
		for _, message := range []string{"hello", strings.Repeat("x", 100_000)} {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
				t.Fatal(err)
			}
			if kind, got, err := conn.Read(t.Context()); err != nil || kind != websocket.MessageText || string(got) != message {
				t.Errorf("got %d bytes and %v, want the message", len(got), err)
			}
		}
		if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	}
}

func TestCloseEndsSockets(t *testing.T) {
	s, err := Start(t.Context(), []Listen{listen("127.0.0.1:0")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := websocket.Dial(t.Context(), s.URL(0, "/ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := conn.Read(t.Context()); err == nil {
		t.Error("the socket is still open")
	}
}

func TestScriptedRoutesAreReadableByAnyOrigin(t *testing.T) {
	s := start(t, Options{})
	for _, path := range []string{"/cors", "/echo", "/bytes?n=1", "/redirect?to=/x", "/status?code=500", "/any", "/stream?chunks=1", "/slow?ms=0"} {
		got := get(t, s.URL(0, path), "Origin", "http://else.test")
		if got.Header.Get("Access-Control-Allow-Origin") != "http://else.test" || got.Header.Get("Access-Control-Allow-Credentials") != "true" {
			t.Errorf("%s: got %v", path, got.Header)
		}
		preflight := do(t, http.MethodOptions, s.URL(0, path), "", "Origin", "http://else.test",
			"Access-Control-Request-Method", "PATCH", "Access-Control-Request-Headers", "x-a, x-b")
		if preflight.StatusCode != http.StatusNoContent || preflight.Header.Get("Access-Control-Allow-Methods") != "PATCH" ||
			preflight.Header.Get("Access-Control-Allow-Headers") != "x-a, x-b" {
			t.Errorf("%s: the preflight got %d %v", path, preflight.StatusCode, preflight.Header)
		}
	}
	if got := get(t, s.URL(0, "/cors")).Header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("without an origin: got %q, want *", got)
	}
}

func TestAnyAnswersEachWay(t *testing.T) {
	s := start(t, Options{})
	for way, want := range map[pages.Way]string{
		pages.Fetch: "text/plain", pages.Img: "image/svg+xml", pages.Import: "text/javascript", pages.CSSImport: "text/css",
		pages.Media: "audio/wav", pages.Form: "text/html", "unknown": "text/plain",
	} {
		got := get(t, s.URL(0, "/any?way="+string(way)))
		if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), want) || got.body == "" {
			t.Errorf("%s: got %d %s with %d bytes, want %s", way, got.StatusCode, got.Header.Get("Content-Type"), len(got.body), want)
		}
	}
}

func TestBadParametersAreNamed(t *testing.T) {
	s := start(t, Options{})
	for target, want := range map[string]string{
		"/redirect":                          "to: is missing",
		"/redirect?to=/x&code=300":           "code: 300 isn't one of [301 302 303 307 308]",
		"/redirect?to=/x&code=abc":           `code: "abc" isn't a whole number from 300 to 399`,
		"/redirect-chain?to=/x&n=101":        `n: "101" isn't a whole number from 1 to 100`,
		"/refresh?to=/x&delay=-1":            `delay: "-1" isn't a whole number from 0 to 60`,
		"/meta-refresh":                      "to: is missing",
		"/script-redirect":                   "to: is missing",
		"/slow?ms=999999999":                 `ms: "999999999" isn't a whole number from 0 to 120000`,
		"/stream?chunks=0":                   `chunks: "0" isn't a whole number from 1 to 10000`,
		"/sse?events=-1":                     `events: "-1" isn't a whole number from 0 to 10000`,
		"/bytes?n=99999999999":               `n: "99999999999" isn't a whole number from 0 to 1073741824`,
		"/bytes?seed=-1":                     `seed: "-1" isn't a whole number from 0 to 2^64-1`,
		"/status?code=99":                    `code: "99" isn't a whole number from 200 to 599`,
		"/status?code=%zz":                   "query: invalid URL escape",
		"/stream?chunks=x&interval=y":        `interval: "y"`,
		"/redirect-chain?to=/x&n=&code=1000": "code:",
	} {
		if got := get(t, s.URL(0, target)); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d %q, want 400 that says %q", target, got.StatusCode, got.body, want)
		}
	}
}

// FuzzScriptedRoutes: whatever the query is, a route answers or refuses, and a redirect leads where it was told.
func FuzzScriptedRoutes(f *testing.F) {
	for _, seed := range []string{"", "to=%2Fx", "to=/x&code=308&n=3", "code=abc", "%zz", "n=5&seed=18446744073709551615", ";", "to=a%0d%0ab: c"} {
		f.Add(seed)
	}
	routes := map[string]http.HandlerFunc{
		"/redirect": serveRedirect, "/redirect-chain": serveRedirectChain, "/refresh": serveRefresh,
		"/meta-refresh": serveMetaRefresh, "/script-redirect": serveScriptRedirect, "/status": serveStatus,
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for path, h := range routes {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.URL = &url.URL{Path: path, RawQuery: raw}
			w := httptest.NewRecorder()
			h(w, r)
			if w.Code < 200 || w.Code > 599 {
				t.Errorf("%s?%s: got %d", path, raw, w.Code)
			}
			if path == "/redirect" && w.Code != http.StatusBadRequest && w.Header().Get("Location") != r.URL.Query().Get("to") {
				t.Errorf("%s?%s: leads to %q", path, raw, w.Header().Get("Location"))
			}
		}
	})
}
