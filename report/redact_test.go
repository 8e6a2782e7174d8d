package report_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/browser-sidecar/conformance/report"
)

// secret has something in it that every encoding writes in its own way.
const secret = `s3cr&t"<tök\en>/+ 0123?`

func redactor(t testing.TB, secrets ...report.Secret) *report.Redactor {
	t.Helper()
	r, err := report.NewRedactor(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRedactorKnowsEveryWriting(t *testing.T) {
	r := redactor(t, report.Secret{Label: "token", Value: secret})
	quoted := func(v any) string { text, _ := json.Marshal(v); return string(text) }
	var xmlText bytes.Buffer
	_ = xml.EscapeText(&xmlText, []byte(secret))
	for name, text := range map[string]string{
		"plain":            secret,
		"JSON":             quoted(secret),
		"JSON in JSON":     quoted(quoted(secret)),
		"XML":              xmlText.String(),
		"Go":               fmt.Sprintf("%q", secret),
		"Go, ASCII":        fmt.Sprintf("%+q", secret),
		"query":            url.QueryEscape(secret),
		"path":             url.PathEscape(secret),
		"path, lower case": strings.ToLower(url.PathEscape(secret)),
		"hex":              hex.EncodeToString([]byte(secret)),
		"hex, upper case":  fmt.Sprintf("%X", secret),
		"base64":           base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, raw":      base64.RawStdEncoding.EncodeToString([]byte(secret)),
		"base64url":        base64.URLEncoding.EncodeToString([]byte(secret)),
		"base64url, raw":   base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"base64 after 1":   base64.StdEncoding.EncodeToString([]byte("u" + secret)),
		"base64 after 2":   base64.StdEncoding.EncodeToString([]byte("u:" + secret + "!")),
		"base64 after 3":   base64.URLEncoding.EncodeToString([]byte("me:" + secret + "!!")),
	} {
		got := r.String("before " + text + " after")
		if !strings.Contains(got, "[redacted:token]") || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

func TestRedactorLeavesTheRestAlone(t *testing.T) {
	r := redactor(t, report.Secret{Label: "token", Value: secret})
	for _, text := range []string{
		"", "nothing here", secret[:len(secret)-1], "\x00\xff binary",
		"every path without a valid bearer token is refused", "Authorization: Basic abc", "authorization", "Bearer",
		"Authorization: Bearer [redacted:token]", "Authorization, Bearer",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	var none *report.Redactor
	if got := none.String(secret); got != secret {
		t.Errorf("a nil redactor made %q", got)
	}
}

func TestRedactorFindsUnknownBearerTokens(t *testing.T) {
	r := redactor(t, report.Secret{Label: "token", Value: "known-token-0123456789"})
	for _, row := range []struct{ text, want string }{
		{"Authorization: Bearer abc\r\nHost: x", "Authorization: Bearer [redacted:bearer]\r\nHost: x"},
		{"authorization:bearer  a.b~c==, x", "authorization:bearer  [redacted:bearer], x"},
		{`{"Authorization":["Bearer abc"]}`, `{"Authorization":["Bearer [redacted:bearer]"]}`},
		{`{\"authorization\": \"BEARER abc\"}`, `{\"authorization\": \"BEARER [redacted:bearer]\"}`},
		{"map[Authorization:[Bearer abc]]", "map[Authorization:[Bearer [redacted:bearer]]]"},
		{"Proxy-Authorization: Bearer abc", "Proxy-Authorization: Bearer [redacted:bearer]"},
		{`{"name":"Authorization","value":"Bearer 0123456789abcdef"}`, `{"name":"Authorization","value":"Bearer [redacted:bearer]"}`},
		{"Authorization: Bearer known-token-0123456789", "Authorization: Bearer [redacted:token]"},
		{"Authorization: Bearer known-token-01234567", "Authorization: Bearer [redacted:bearer]"},
	} {
		if got := r.String(row.text); got != row.want {
			t.Errorf("%q became %q, want %q", row.text, got, row.want)
		}
	}
}

func TestRedactorPrefersTheLongerSecret(t *testing.T) {
	r := redactor(t, report.Secret{Label: "short", Value: "abcdefgh"}, report.Secret{Label: "long", Value: "abcdefgh-ijkl"})
	if got := r.String("abcdefgh-ijkl abcdefgh"); got != "[redacted:long] [redacted:short]" {
		t.Errorf("got %q", got)
	}
}

func TestRedactorRefuses(t *testing.T) {
	_, err := report.NewRedactor(report.Secret{Label: "pin", Value: "1234567"})
	if err == nil || !strings.Contains(err.Error(), `"pin"`) || strings.Contains(err.Error(), "1234567") {
		t.Errorf("a short secret: got %v", err)
	}
	for _, label := range []string{"", `a"b`, "a b", "<a>"} {
		if _, err := report.NewRedactor(report.Secret{Label: label, Value: secret}); err == nil {
			t.Errorf("label %q: want an error", label)
		}
	}
}

func TestRedactingWriter(t *testing.T) {
	text := "a " + secret + " b\nAuthorization: Bearer " + strings.Repeat("x", 5000) + " c " + secret[:5]
	r := redactor(t, report.Secret{Label: "token", Value: secret})
	want := "a [redacted:token] b\nAuthorization: Bearer [redacted:bearer] c " + secret[:5]
	for size := 1; size <= len(text); size += 1 + size/8 {
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			if n, err := io.WriteString(w, piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Fatalf("in pieces of %d: got %q", size, got)
		}
	}
	if _, err := io.Copy(r.Writer(brokenWriter{}), strings.NewReader(text)); err == nil {
		t.Error("a broken writer: want an error")
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("token "+secret+" end", secret, uint8(3))
	f.Add("Authorization: Bearer abc", "abcdefghij", uint8(1))
	f.Add("Bearer Bearer Bearer 0123456789abcdef", "0123456789abcdef", uint8(7))
	f.Add("aaaaaaaaaaaaaaaaaaaa", "aaaaaaaa", uint8(2))
	f.Fuzz(func(t *testing.T, text, value string, size uint8) {
		if len(text) > 4<<10 || len(value) > 512 {
			t.Skip() // the writer holds back what may begin a secret: pieces of one byte would take for ever
		}
		r, err := report.NewRedactor(report.Secret{Label: "x", Value: value})
		if err != nil {
			t.Skip() // too short to be a secret
		}
		whole := r.String(text)
		labels := "[redacted:x][redacted:bearer]"
		if !strings.Contains(labels, value) && strings.Contains(r.String(value), value) {
			t.Fatalf("%q is still in %q", value, r.String(value))
		}
		var out bytes.Buffer
		w := r.Writer(&out)
		step := int(size)%64 + 1
		for rest := []byte(text); len(rest) > 0; {
			n := min(step, len(rest))
			_, _ = w.Write(rest[:n])
			rest = rest[n:]
		}
		_ = w.Close()
		if got := out.String(); got != whole {
			t.Fatalf("in pieces of %d: %q, in one: %q", step, got, whole)
		}
	})
}
