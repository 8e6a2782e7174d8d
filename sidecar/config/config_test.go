package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tok-0123456789-0123456789-0123456789"

// secretDigits are in every token of the tests, and nowhere else.
const secretDigits = "0123456789"

// with returns the smallest valid configuration with more keys in it.
func with(more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`{"token": %q, "app_url": "http://127.0.0.1:3000"%s}`, token, more)
}

const (
	recording = `"url": "http://127.0.0.1:3000/events", "token": "rec-0123456789-0123456789-0123456789"`
	live      = `"session_id": "s", "origins": ["http://localhost:3000"]`
)

// refusal is a text that is refused, and the message.
type refusal struct{ text, want string }

func refusals() []refusal {
	const (
		urlText     = " must be an absolute http(s) URL"
		tokenText   = "token must be a string of at least 32 characters without whitespace"
		originsText = "live.origins must be a list of http(s) origins, such as http://localhost:3000"
		hostText    = "host must be an IP address, without brackets and zone, or a host name"
		stopText    = "stop_at must be epoch milliseconds or an ISO 8601 time"
		full        = `{"name": "a", "value": "` + token + `", "domain": "c", "path": "/"`
		entryText   = "storage_state: origin 1's localStorage must be a list of { name, value } strings"
	)
	app := func(u string) string { return fmt.Sprintf(`{"token": %q, "app_url": %s}`, token, u) }
	tok := func(v string) string { return fmt.Sprintf(`{"app_url": "http://127.0.0.1:3000", "token": %s}`, v) }
	rec := func(v string) string { return with(`"recording": {` + v + `}`) }
	liv := func(v string) string { return with(`"live": {` + v + `}`) }
	origins := func(v string) string { return liv(`"session_id": "s", "origins": ` + v) }
	cookie := func(v string) string { return with(`"storage_state": {"cookies": [` + v + `]}`) }
	origin := func(v string) string { return with(`"storage_state": {"origins": [` + v + `]}`) }
	all := []refusal{
		{"", "the configuration is not JSON: it is empty"},
		{" \n\t", "the configuration is not JSON: it is empty"},
		{"\ufeff", "the configuration is not JSON: it is empty"},
		{"token: x", "the configuration is not JSON (byte 2)"},
		{"{", "the configuration is not JSON (byte 1)"},
		{with("") + "{}", "the configuration is not JSON (byte 86)"},
		{with("") + " x", "the configuration is not JSON (byte 87)"},
		{`{"a": 1,}`, "the configuration is not JSON (byte 9)"},
		{"{\"a\": \"\xff\"}", "the configuration is not JSON: it is not UTF-8"},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), "the configuration nests deeper than 64 levels"},
		{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "the configuration is not JSON (byte 10001)"},
		{"[]", "the configuration must be a JSON object"},
		{"null", "the configuration must be a JSON object"},
		{"[" + with("") + "]", "the configuration must be a JSON object"},
		{with("") + " null", "the configuration is not JSON (byte 87)"},
		{with("") + "]", "the configuration is not JSON (byte 86)"},
		{"token=" + token, "the configuration is not JSON (byte 2)"},
		{`{"token": "` + token, "the configuration is not JSON (byte 47)"},
		{`"text"`, "the configuration must be a JSON object"},
		{"17", "the configuration must be a JSON object"},
		{with(`"port": 1, "port": 2`), `the configuration names "port" twice`},
		{rec(recording + `, "url": "x"`), `the configuration names "recording.url" twice`},

		{tok(`null`), tokenText},
		{`{"app_url": "http://127.0.0.1:3000"}`, tokenText},
		{tok(`17`), tokenText},
		{tok(`""`), tokenText},
		{tok(`"0123456789012345678901234567890"`), tokenText},
		{tok(`"0123456789012345 0123456789012345"`), tokenText},
		{tok(`"0123456789012345678901234567890123\n"`), tokenText},
		{tok(`"0123456789012345\u00a00123456789012345"`), tokenText},
		{tok(`"0123456789012345\u00000123456789012345"`), tokenText},
		{tok(`["` + token + `"]`), tokenText},
		{tok(`{"value": "` + token + `"}`), tokenText},
		{tok(`"` + strings.Repeat("é", 31) + `"`), tokenText},
		{tok(`" ` + token + `"`), tokenText},
		{tok(`"` + token + `\t` + token + `"`), tokenText},
		{tok(`"` + token + `\r\n` + token + `"`), tokenText},
		{`{"app_url": "http://127.0.0.1:3000", "Token": "` + token + `"}`, tokenText},

		{`{"token": "` + token + `"}`, "app_url" + urlText},
		{app(`null`), "app_url" + urlText},
		{app(`17`), "app_url" + urlText},
		{app(`""`), "app_url" + urlText},
		{app(`"/path"`), "app_url" + urlText},
		{app(`"//host/"`), "app_url" + urlText},
		{app(`"localhost:3000"`), "app_url" + urlText},
		{app(`"ftp://host"`), "app_url" + urlText},
		{app(`"file:///x"`), "app_url" + urlText},
		{app(`"http:host"`), "app_url" + urlText},
		{app(`"http:///x"`), "app_url" + urlText},
		{app(`"http://"`), "app_url" + urlText},
		{app(`"http://a:0"`), "app_url" + urlText},
		{app(`"http://a:65536"`), "app_url" + urlText},
		{app(`"http://a:x"`), "app_url" + urlText},
		{app(`" http://a"`), "app_url" + urlText},
		{app(`"http://a b"`), "app_url" + urlText},
		{app(`"http://a\\b"`), "app_url" + urlText},
		{app(`"http://a..b"`), "app_url" + urlText},
		{app(`"http://127.1"`), "app_url" + urlText},
		{app(`"http://2130706433"`), "app_url" + urlText},
		{app(`"http://0x7f.0.0.0x1"`), "app_url" + urlText},
		{app(`"http://[::1%25lo]"`), "app_url" + urlText},
		{app(`"http://[127.0.0.1]"`), "app_url" + urlText},
		{app(`"http://[::1"`), "app_url" + urlText},
		{app(`"http://u:p@a"`), "app_url must not carry credentials"},
		{app(`"http://u@a"`), "app_url must not carry credentials"},

		{with(`"mode": "hidden"`), "mode must be one of headless, headed"},
		{with(`"mode": "Headless"`), "mode must be one of headless, headed"},
		{with(`"mode": true`), "mode must be one of headless, headed"},
		{with(`"capabilities": "pdf"`), "capabilities may only name testing, vision, pdf"},
		{with(`"capabilities": ["pdf", "devtools"]`), "capabilities may only name testing, vision, pdf"},
		{with(`"capabilities": [null]`), "capabilities may only name testing, vision, pdf"},
		{with(`"capabilities": {}`), "capabilities may only name testing, vision, pdf"},
		{with(`"host": ""`), hostText},
		{with(`"host": 17`), hostText},
		{with(`"host": "127.1"`), hostText},
		{with(`"host": "[::1]"`), hostText},
		{with(`"host": "fe80::1%eth0"`), hostText},
		{with(`"host": "127.0.0.1:80"`), hostText},
		{with(`"host": "a b"`), hostText},
		{with(`"host": "http://a"`), hostText},
		{with(`"port": -1`), "port must be an integer from 0 to 65535"},
		{with(`"port": 65536`), "port must be an integer from 0 to 65535"},
		{with(`"port": 1.5`), "port must be an integer from 0 to 65535"},
		{with(`"port": "8080"`), "port must be an integer from 0 to 65535"},
		{with(`"port": 1e999`), "port must be an integer from 0 to 65535"},
		{with(`"allowed_hosts": "a"`), "allowed_hosts must be a list of host names"},
		{with(`"allowed_hosts": [""]`), "allowed_hosts must be a list of host names"},
		{with(`"allowed_hosts": ["a", 1]`), "allowed_hosts must be a list of host names"},
		{with(`"allowed_hosts": ["a b"]`), "allowed_hosts must be a list of host names"},
		{with(`"workdir": ""`), "workdir must be a directory path"},
		{with(`"workdir": 1`), "workdir must be a directory path"},
		{with(`"workdir": "a\u0000"`), "workdir must be a directory path"},
		{with(`"stop_at": true`), stopText},
		{with(`"stop_at": ""`), stopText},
		{with(`"stop_at": "soon"`), stopText},
		{with(`"stop_at": "2026-13-01T00:00:00Z"`), stopText},
		{with(`"stop_at": "2026-01-01T24:61:00Z"`), stopText},
		{with(`"stop_at": 1e400`), stopText},
		{with(`"stop_at": 8640000000000001`), stopText},
		{with(`"chromium_sandbox": null`), "chromium_sandbox must be true or false"},
		{with(`"chromium_sandbox": "false"`), "chromium_sandbox must be true or false"},
		{with(`"chromium_sandbox": 0`), "chromium_sandbox must be true or false"},

		{with(`"recording": []`), "recording must be an object"},
		{with(`"recording": "x"`), "recording must be an object"},
		{rec(``), "recording.url" + urlText},
		{rec(`"url": "ftp://a", "token": "x"`), "recording.url" + urlText},
		{rec(`"url": "https://u:p@a/"`), "recording.url must not carry credentials"},
		{rec(`"url": "http://a/"`), "recording." + tokenText},
		{rec(`"url": "http://a/", "token": "short"`), "recording." + tokenText},
		{rec(recording + `, "batch_events": 0`), "recording.batch_events must be a positive integer"},
		{rec(recording + `, "batch_events": -1`), "recording.batch_events must be a positive integer"},
		{rec(recording + `, "batch_events": "1"`), "recording.batch_events must be a positive integer"},
		{rec(recording + `, "batch_events": 9007199254740993`), "recording.batch_events must be a positive integer"},
		{rec(recording + `, "batch_bytes": 0`), "recording.batch_bytes must be a positive integer"},
		{rec(recording + `, "batch_bytes": 1.5`), "recording.batch_bytes must be a positive integer"},

		{with(`"live": true`), "live must be an object"},
		{liv(``), "live.session_id must name the sandbox session"},
		{liv(`"session_id": ""`), "live.session_id must name the sandbox session"},
		{liv(`"session_id": 7`), "live.session_id must name the sandbox session"},
		{liv(`"session_id": "s"`), originsText},
		{origins(`[]`), originsText},
		{origins(`"http://a"`), originsText},
		{origins(`[17]`), originsText},
		{origins(`["a"]`), originsText},
		{origins(`["*"]`), originsText},
		{origins(`["null"]`), originsText},
		{origins(`["http://a/x"]`), originsText},
		{origins(`["http://a?"]`), originsText},
		{origins(`["http://a#"]`), originsText},
		{origins(`["http://u@a"]`), originsText},
		{origins(`["http://a", "ws://b"]`), originsText},
		{liv(live + `, "agent_wait_ms": -1`), "live.agent_wait_ms must be an integer from 0 to 45000"},
		{liv(live + `, "agent_wait_ms": 45001`), "live.agent_wait_ms must be an integer from 0 to 45000"},
		{liv(live + `, "release_grace_ms": 0`), "live.release_grace_ms must be a positive integer"},
		{liv(live + `, "upload_max_file_bytes": 0`), "live.upload_max_file_bytes must be a positive integer"},
		{liv(live + `, "upload_max_files": -1`), "live.upload_max_files must be an integer of at least 0"},
		{liv(live + `, "upload_max_files": 1.5`), "live.upload_max_files must be an integer of at least 0"},
		{liv(live + `, "upload_max_session_bytes": "x"`), "live.upload_max_session_bytes must be a positive integer"},

		{with(`"storage_state": "path"`), "storage_state must be an object"},
		{with(`"storage_state": []`), "storage_state must be an object"},
		{with(`"storage_state": {"cookies": {}}`), "storage_state needs cookies and origins lists"},
		{with(`"storage_state": {"origins": "x"}`), "storage_state needs cookies and origins lists"},
		{cookie(`17`), "storage_state: cookie 1 must be an object"},
		{cookie(`{"name": "a", "value": "b", "domain": "c", "path": "/"}, null`), "storage_state: cookie 2 must be an object"},
		{cookie(`{"name": "a"}`), "storage_state: cookie 1 needs a string value"},
		{cookie(`{"name": "a", "value": "b", "domain": 1, "path": "/"}`), "storage_state: cookie 1 needs a string domain"},
		{cookie(`{"name": "a", "value": "b", "domain": "c"}`), "storage_state: cookie 1 needs a string path"},
		{cookie(`{"name": "a", "value": 1234567890123456, "domain": "c", "path": "/"}`), "storage_state: cookie 1 needs a string value"},
		{cookie(full + `, "expires": "soon"}`), "storage_state: cookie 1's expires must be a number of seconds"},
		{cookie(full + `, "expires": 1e400}`), "storage_state: cookie 1's expires must be a number of seconds"},
		{cookie(full + `, "httpOnly": "yes"}`), "storage_state: cookie 1's httpOnly must be true or false"},
		{cookie(full + `, "secure": 1}`), "storage_state: cookie 1's secure must be true or false"},
		{cookie(full + `, "sameSite": "lax"}`), "storage_state: cookie 1's sameSite must be one of Strict, Lax, None"},
		{cookie(full + `, "sameSite": true}`), "storage_state: cookie 1's sameSite must be one of Strict, Lax, None"},
		{origin(`[]`), "storage_state: origin 1 must be an object"},
		{origin(`{}`), "storage_state: origin 1 needs an origin"},
		{origin(`{"origin": "http://a", "localStorage": {}}`), entryText},
		{origin(`{"origin": "http://a", "localStorage": [1]}`), entryText},
		{origin(`{"origin": "http://a", "localStorage": [{"name": "a"}]}`), entryText},
		{origin(`{"origin": "http://a", "localStorage": [{"name": "a", "value": 1}]}`), entryText},
	}
	for _, key := range []string{"upload_max_file_bytes", "upload_max_session_bytes", "release_grace_ms"} {
		for _, value := range []string{`0`, `-1`, `1.5`, `"10"`, `true`, `[]`, `9007199254740992`, `1e400`} {
			all = append(all, refusal{liv(live + fmt.Sprintf(`, %q: %s`, key, value)), "live." + key + " must be a positive integer"})
		}
	}
	for _, value := range []string{`-1`, `65536`, `4294967296`, `4294975727`, `18446744073709551616`, `9007199254740993`, `""`, `true`, `[0]`, `{}`} {
		all = append(all, refusal{with(`"port": ` + value), "port must be an integer from 0 to 65535"})
	}
	for _, value := range []string{`4294967296`, `1.5`, `"20000"`, `true`, `45000.5`} {
		all = append(all, refusal{liv(live + `, "agent_wait_ms": ` + value), "live.agent_wait_ms must be an integer from 0 to 45000"})
	}
	return all
}

func TestRefuses(t *testing.T) {
	for _, tc := range refusals() {
		c, _, err := Parse([]byte(tc.text))
		if err == nil || c != nil || err.Error() != tc.want {
			t.Errorf("%.200s:\n got %v\nwant %s", tc.text, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), secretDigits) {
			t.Errorf("%.200s:\n a token shows in %v", tc.text, err)
		}
	}
}

func TestReportsTheFirstProblemInOrder(t *testing.T) {
	keys := []struct{ bad, names string }{
		{`"mode": 1`, "mode"},
		{`"capabilities": 1`, "capabilities"},
		{`"allowed_hosts": 1`, "allowed_hosts"},
		{`"host": 1`, "host"},
		{`"port": "x"`, "port"},
		{`"chromium_sandbox": 1`, "chromium_sandbox"},
		{`"workdir": 1`, "workdir"},
		{`"app_url": 1`, "app_url"},
		{`"storage_state": 1`, "storage_state"},
		{`"token": 1`, "token"},
		{`"stop_at": true`, "stop_at"},
		{`"recording": 1`, "recording"},
		{`"live": 1`, "live"},
	}
	for i := range keys {
		var parts []string
		for _, k := range keys[i:] {
			parts = append(parts, k.bad)
		}
		slices.Reverse(parts)
		for _, k := range keys[:i] { // what comes before is right
			switch k.names {
			case "token":
				parts = append(parts, `"token": "`+token+`"`)
			case "app_url":
				parts = append(parts, `"app_url": "http://a"`)
			}
		}
		_, _, err := Parse([]byte("{" + strings.Join(parts, ",") + "}"))
		if err == nil || !strings.HasPrefix(err.Error(), keys[i].names+" ") {
			t.Errorf("got %v, want a message about %s", err, keys[i].names)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{
		with(""), "\ufeff" + with("") + "\n",
		with(`"mode": null, "capabilities": null, "host": null, "port": null, "allowed_hosts": null, "workdir": null,
			"stop_at": null, "recording": null, "live": null, "storage_state": null`),
	} {
		c, warnings, err := Parse([]byte(text))
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v, %v", warnings, err)
		}
		if c.Token.Reveal() != token || c.AppURL.String() != "http://127.0.0.1:3000" || c.Mode != Headless ||
			len(c.Capabilities) > 0 || c.Host != "127.0.0.1" || c.Port != 0 || len(c.AllowedHosts) > 0 || c.Workdir != "" ||
			!c.StopAt.IsZero() || !c.ChromiumSandbox || c.Recording != nil || c.Live != nil || c.StorageState != nil {
			t.Errorf("got %+v", c)
		}
	}
	c, _, err := Parse([]byte(with(`"recording": {` + recording + `}, "live": {` + live + `}, "storage_state": {}`)))
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Recording; r.BatchEvents != 1000 || r.BatchBytes != 1048576 || r.URL.String() != "http://127.0.0.1:3000/events" {
		t.Errorf("got %+v", r)
	}
	if l := c.Live; l.AgentWait != 20*time.Second || l.ReleaseGrace != 10*time.Second || l.UploadMaxFileBytes != 26214400 ||
		l.UploadMaxFiles != 10 || l.UploadMaxSessionBytes != 262144000 {
		t.Errorf("got %+v", l)
	}
	if s := c.StorageState; s == nil || len(s.Cookies)+len(s.Origins) > 0 {
		t.Errorf("got %+v", s)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	c, warnings, err := Parse([]byte(with(`"mode": "headed", "capabilities": ["pdf", "vision", "pdf"], "host": "LocalHost",
		"port": 8.931e3, "allowed_hosts": ["Browser:8931"], "workdir": "/w", "stop_at": 1767225600000.9,
		"chromium_sandbox": false, "recording": {` + recording + `, "batch_events": 5, "batch_bytes": 6},
		"live": {"session_id": "s", "origins": ["HTTP://A:80", "http://a/", "https://b:8443"], "agent_wait_ms": 0,
		"release_grace_ms": 9007199254740991, "upload_max_file_bytes": 1, "upload_max_files": 0, "upload_max_session_bytes": 2},
		"storage_state": {"cookies": [{"name": "a", "value": "", "domain": ".c", "path": "", "expires": 1.5, "httpOnly": true,
		"secure": false, "sameSite": "None"}, {"name": "b", "value": "", "domain": "c", "path": "/", "expires": null,
		"httpOnly": null, "secure": true, "sameSite": null}], "origins": [{"origin": "http://a", "localStorage": [{"name": "n", "value": "v"}]},
		{"origin": "http://b"}]}`)))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	want := `{"Token":"[secret]","Mode":"headed","Capabilities":["pdf","vision"],"Host":"localhost","Port":8931,` +
		`"AllowedHosts":["Browser:8931"],"Workdir":"/w","StopAt":"2026-01-01T00:00:00Z","ChromiumSandbox":false,` +
		`"Live":{"SessionID":"s","Origins":["http://a","https://b:8443"],"AgentWait":0,"ReleaseGrace":9223372036854000000,` +
		`"UploadMaxFileBytes":1,"UploadMaxFiles":0,"UploadMaxSessionBytes":2},"StorageState":{"Cookies":[{"Name":"a","Value":"",` +
		`"Domain":".c","Path":"/","Expires":1.5,"HTTPOnly":true,"Secure":false,"SameSite":"None"},` +
		`{"Name":"b","Value":"","Domain":"c","Path":"/","Expires":-1,"HTTPOnly":false,"Secure":true,"SameSite":"Lax"}],"Origins":[{"Origin":"http://a",` +
		`"LocalStorage":[{"Name":"n","Value":"v"}]},{"Origin":"http://b","LocalStorage":null}]},"AppURL":"http://127.0.0.1:3000",` +
		`"Recording":"http://127.0.0.1:3000/events 5 6"}`
	c.StopAt = c.StopAt.UTC()
	got, err := json.Marshal(struct {
		*Config
		AppURL, Recording string
	}{c, c.AppURL.String(), fmt.Sprint(c.Recording.URL, " ", c.Recording.BatchEvents, " ", c.Recording.BatchBytes)})
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAppURLBecomesAnOrigin(t *testing.T) {
	for given, want := range map[string]string{
		"http://localhost:3000/path?q#f":        "http://localhost:3000",
		"HTTP://LocalHost:80":                   "http://localhost",
		"https://a.test:443/":                   "https://a.test",
		"https://a.test:80":                     "https://a.test:80",
		"http://a.test:":                        "http://a.test",
		"http://a.test:0080":                    "http://a.test",
		"http://[0:0:0:0:0:0:0:1]:3000":         "http://[::1]:3000",
		"http://[FD00::A]":                      "http://[fd00::a]",
		"http://[::ffff:127.0.0.1]:1":           "http://[::ffff:7f00:1]:1",
		"http://b\u00fccher.test":               "http://xn--bcher-kva.test",
		"http://my_app:3000":                    "http://my_app:3000",
		"http://a.test.:3000":                   "http://a.test.:3000",
		"http://app-1.x2.example":               "http://app-1.x2.example",
		"http://127.0.0.1.evil.test":            "http://127.0.0.1.evil.test",
		"http://" + strings.Repeat("a", 63):     "http://" + strings.Repeat("a", 63),
		"http://x.test/a:b@c":                   "http://x.test",
		"http://x.test?u@v":                     "http://x.test",
		"http://0x7f.test":                      "http://0x7f.test",
		"https://[64:ff9b::7f00:1]:8443/a%20b/": "https://[64:ff9b::7f00:1]:8443",
	} {
		c, _, err := Parse([]byte(fmt.Sprintf(`{"token": %q, "app_url": %q}`, token, given)))
		if err != nil {
			t.Errorf("%s: %v", given, err)
		} else if got := c.AppURL.String(); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

func TestStopAt(t *testing.T) {
	zone := time.Local
	t.Cleanup(func() { time.Local = zone })
	time.Local = time.FixedZone("test", 3600)
	for given, want := range map[string]string{
		`1767225600000`:                    "2026-01-01T00:00:00Z",
		`0`:                                "1970-01-01T00:00:00Z",
		`-1`:                               "1969-12-31T23:59:59.999Z",
		`"2026-01-01T00:00:00Z"`:           "2026-01-01T00:00:00Z",
		`"2026-01-01T00:00:00.123+02:00"`:  "2025-12-31T22:00:00.123Z",
		`"2026-01-01T00:00Z"`:              "2026-01-01T00:00:00Z",
		`"2026-01-01T00:00:00+0200"`:       "2025-12-31T22:00:00Z",
		`"2026-01-01T00:00:00"`:            "2025-12-31T23:00:00Z",
		`"2026-01-01"`:                     "2026-01-01T00:00:00Z",
		`"2026-01-01T00:00:00.123456789Z"`: "2026-01-01T00:00:00.123456789Z",
	} {
		c, _, err := Parse([]byte(with(`"stop_at": ` + given)))
		if err != nil {
			t.Errorf("%s: %v", given, err)
		} else if got := c.StopAt.UTC().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

func TestUnknownKeysAreWarnedOf(t *testing.T) {
	_, warnings, err := Parse([]byte(with(`"new\nkey": {"token": 1}, "Token": "x", "recording": {` + recording + `, "x": 1},
		"live": {` + live + `, "y": 1}, "storage_state": {"z": 1, "cookies": [
		{"name": "a", "value": "", "domain": "c", "path": "", "partitionKey": "k"},
		{"name": "a", "value": "", "domain": "c", "path": "", "partitionKey": "k"}],
		"origins": [{"origin": "http://a", "indexedDB": [], "localStorage": [{"name": "n", "value": "v", "w": 1}]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Warning{
		`unknown key "Token" is ignored`, `unknown key "live.y" is ignored`, `unknown key "new\nkey" is ignored`,
		`unknown key "recording.x" is ignored`, `unknown key "storage_state.cookies[].partitionKey" is ignored`,
		`unknown key "storage_state.origins[].indexedDB" is ignored`,
		`unknown key "storage_state.origins[].localStorage[].w" is ignored`, `unknown key "storage_state.z" is ignored`,
	}
	if !slices.Equal(warnings, want) {
		t.Errorf("got %q", warnings)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`"%s%d": 1`, strings.Repeat("k", 500), i))
	}
	_, warnings, err = Parse([]byte(with(strings.Join(many, ","))))
	if err != nil || len(warnings) != 21 || warnings[20] != "80 more unknown keys are ignored" {
		t.Errorf("got %d warnings, %v", len(warnings), err)
	}
	for _, w := range warnings {
		if len(w) > 200 {
			t.Errorf("a warning of %d bytes", len(w))
		}
	}
}

// A text of unknown keys alone is as long as a configuration may be, and is read in a time that grows with its length.
func TestManyUnknownKeys(t *testing.T) {
	var text strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&text, `"k%d":0,`, i)
	}
	_, warnings, err := Parse([]byte("{" + text.String() + strings.TrimPrefix(with(""), "{")))
	if err != nil || warnings[len(warnings)-1] != "199980 more unknown keys are ignored" {
		t.Errorf("got %d warnings, %v", len(warnings), err)
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	c, _, err := Parse([]byte(with(`"recording": {` + recording + `}`)))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%v %s %q %x", c.Token, c.Token, c.Token, c.Token),
		fmt.Sprintf("%+v", *c.Recording), string(asJSON), fmt.Errorf("refused: %v", c.Token).Error(),
	} {
		if strings.Contains(text, secretDigits) {
			t.Errorf("a token shows in %s", text)
		}
	}
}

// FuzzParse checks that no text panics, and that neither a refusal nor a warning shows what a value was.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		with(""), with(`"recording": {` + recording + `}`), with(`"live": {` + live + `}`), "", "[]", "{", "\ufeff{}",
		with(`"storage_state": {"cookies": [{"name": "a", "value": "b", "domain": "c", "path": "/"}], "origins": [{"origin": "o"}]}`),
		with(`"stop_at": "2026-01-01T00:00:00Z", "port": 1e2, "capabilities": ["pdf"]`), `{"token": 1, "token": 2}`,
		`{"app_url": "http://u:p@[::1%25lo]:99999/"}`,
	} {
		f.Add([]byte(s))
	}
	for _, r := range refusals() {
		f.Add([]byte(r.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, warnings, err := Parse(data)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") || err.Error() == "" {
				t.Fatalf("not one line: %q", err)
			}
			// A key that stands twice is named whatever it is.
			if strings.Contains(err.Error(), secretDigits) && !strings.HasPrefix(err.Error(), "the configuration names ") {
				t.Fatalf("a token shows in %q", err)
			}
			return
		}
		for _, w := range warnings {
			if strings.ContainsAny(string(w), "\r\n") {
				t.Fatalf("not one line: %q", w)
			}
		}
		if c.AppURL.User != nil || c.AppURL.Path != "" || c.AppURL.Host == "" || len(c.Token.Reveal()) < 32 {
			t.Fatalf("got %+v", c)
		}
		again, ok := parseHTTP(c.AppURL.String())
		if !ok || again.String() != c.AppURL.String() {
			t.Fatalf("the origin %s is not in normal form: %v", c.AppURL, again)
		}
	})
}
