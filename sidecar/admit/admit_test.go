package admit

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tok-0123456789-0123456789-0123456789"

func gate() *Gate {
	return New(token, Hosts("127.0.0.1", netip.MustParseAddrPort("127.0.0.1:8931"), []string{"Browser:8931", "bare"}))
}

func TestAdmitJudgesHostThenOriginThenToken(t *testing.T) {
	badHost := Refusal{http.StatusForbidden, "Host not allowed"}
	badOrigin := Refusal{http.StatusForbidden, "Origin not allowed"}
	badToken := Refusal{http.StatusUnauthorized, "Missing or invalid bearer token"}
	good := "Bearer " + token
	h := func(pairs ...string) http.Header {
		out := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			out.Add(pairs[i], pairs[i+1])
		}
		return out
	}
	for _, tc := range []struct {
		name   string
		host   string
		header http.Header
		want   Refusal
	}{
		{"all right", "127.0.0.1:8931", h("Authorization", good), Refusal{}},
		{"all wrong: the host speaks first", "evil", h("Origin", "x"), badHost},
		{"origin before token", "localhost:8931", h("Origin", "null"), badOrigin},
		{"an empty origin is one", "localhost:8931", h("Origin", "", "Authorization", good), badOrigin},
		{"the sidecar's own origin", "localhost:8931", h("Origin", "http://localhost:8931", "Authorization", good), badOrigin},
		{"no token", "[::1]:8931", h(), badToken},
		{"no host", "", h("Authorization", good), badHost},
		{"two authorizations", "127.0.0.1:8931", h("Authorization", good, "Authorization", good), badToken},
		{"forwarded headers change nothing", "evil", h("Authorization", good, "X-Forwarded-Host", "127.0.0.1:8931", "Forwarded", "host=127.0.0.1:8931", "X-Host", "127.0.0.1:8931"), badHost},
		{"a token elsewhere", "127.0.0.1:8931", h("Cookie", "token="+token, "Proxy-Authorization", good, "X-Authorization", good), badToken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, admitted := gate().Admit(tc.host, tc.header)
			if got != tc.want || admitted != (tc.want == Refusal{}) {
				t.Fatalf("got %v (admitted: %v), want %v", got, admitted, tc.want)
			}
		})
	}
}

func TestHostValues(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:8931": true, "localhost:8931": true, "LocalHost:8931": true, "[::1]:8931": true,
		"browser:8931": true, "BROWSER:8931": true, "bare": true,
		"browser": false, "bare:8931": false, "127.0.0.1": false, "localhost": false, "127.0.0.1:8932": false,
		"127.0.0.1:08931": false, "localhost.:8931": false, "127.1:8931": false, "2130706433:8931": false,
		"0x7f000001:8931": false, "0177.0.0.1:8931": false, "evil.127.0.0.1:8931": false,
		"127.0.0.1.evil.test:8931": false, "127.0.0.1:8931.evil.test": false, "127.0.0.1:8931@evil": false,
		"evil@127.0.0.1:8931": false, "::1:8931": false, "[0:0:0:0:0:0:0:1]:8931": false, "[::ffff:127.0.0.1]:8931": false,
		"127.0.0.1:8931,evil": false, "\x20127.0.0.1:8931": false, "0.0.0.0:8931": false, "": false,
		"\u212aocalhost:8931": false, "loca\u017fhost:8931": false, // letters that a Unicode fold would turn into k and s
	} {
		if got := gate().Names(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
	if New(token, []string{""}).Names("") {
		t.Error("an empty name was accepted")
	}
	if !New(token, []string{"brokers"}).Names("BROKERS") || New(token, []string{"brokers"}).Names("bro\u212aers") {
		t.Error("only ASCII letters may be folded")
	}
}

func TestHostsFollowsTheListeningAddress(t *testing.T) {
	for _, tc := range []struct {
		host, addr string
		want       []string
	}{
		{"127.0.0.1", "127.0.0.1:9", []string{"127.0.0.1:9", "[::1]:9", "localhost:9"}},
		{"localhost", "127.0.0.1:9", []string{"127.0.0.1:9", "[::1]:9", "localhost:9"}},
		{"127.0.0.2", "127.0.0.2:9", []string{"127.0.0.1:9", "127.0.0.2:9", "[::1]:9", "localhost:9"}},
		{"::1", "[::1]:9", []string{"127.0.0.1:9", "[::1]:9", "localhost:9"}},
		{"0.0.0.0", "0.0.0.0:9", []string{"127.0.0.1:9", "[::1]:9", "localhost:9"}},
		{"::", "[::]:9", []string{"127.0.0.1:9", "[::1]:9", "localhost:9"}},
		{"box.test", "10.0.0.7:9", []string{"10.0.0.7:9", "box.test:9"}},
		{"10.0.0.7", "10.0.0.7:80", []string{"10.0.0.7", "10.0.0.7:80"}},
	} {
		got := Hosts(tc.host, netip.MustParseAddrPort(tc.addr), nil)
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, tc.want) {
			t.Errorf("%s at %s: got %q, want %q", tc.host, tc.addr, got, tc.want)
		}
	}
}

func TestTokenForms(t *testing.T) {
	for value, want := range map[string]bool{
		"Bearer " + token: true, "bearer " + token: true, "BEARER    " + token: true, "Bearer " + token + " \t": true,
		"": false, "Bearer": false, "Bearer\x20": false, "Bearer\t" + token: false, token: false, "Basic " + token: false,
		"Bearer " + token + " x": false, "Bearer x " + token: false, "Bearer " + token[:len(token)-1]: false,
		"Bearer " + token + "x": false, "Bearer " + strings.ToUpper(token): false, "Bearer=" + token: false,
		"Bearer " + token + "," + token: false, " Bearer " + token: false, `Bearer "` + token + `"`: false,
	} {
		if got := gate().knows([]string{value}); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	if New("", nil).knows([]string{"Bearer "}) {
		t.Error("an empty token let somebody in")
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"127.0.0.1:8931", "LOCALHOST:8931", "[::1]:8931", "browser:8931", "bare", "", "evil", "127.0.0.1:8931\x00", "\u212a"} {
		f.Add(s)
	}
	accepted := []string{"127.0.0.1:8931", "localhost:8931", "[::1]:8931", "browser:8931", "bare"}
	f.Fuzz(func(t *testing.T, host string) {
		want := len(host) < 64 && slices.ContainsFunc(accepted, func(a string) bool {
			return len(a) == len(host) && strings.EqualFold(a, host)
		})
		if got := gate().Names(host); got != want {
			t.Fatalf("%q: got %v, want %v", host, got, want)
		}
	})
}

func FuzzAuthorization(f *testing.F) {
	for _, s := range []string{"Bearer " + token, "bearer  " + token + "\t", "Basic " + token, "Bearer", "", "Bearer a b", "Bearer \x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !gate().knows([]string{value}) {
			return
		}
		fields := strings.Fields(value)
		if len(fields) != 2 || !strings.EqualFold(fields[0], "bearer") || fields[1] != token {
			t.Fatalf("%q was let in", value)
		}
	})
}
