package dashboard_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/fakes/dashboard"
)

const (
	token   = "browser-token-0123456789abcdef0123456789"
	session = "7f9a2c1e-4b5d-4e6f-8a9b-0c1d2e3f4a5b"
)

var (
	now  = time.Unix(1790000000, 0)
	user = dashboard.User{ID: "7", Name: "Ada"}
)

func issuer() dashboard.Issuer {
	return dashboard.Issuer{Token: token, Session: session, Now: func() time.Time { return now }}
}

// check is what the contract demands of a sidecar, written once more and strictly, as the oracle of the tables.
func check(ticket string) error {
	parts := strings.Split(ticket, ".")
	if len(parts) != 2 || len(ticket) > 2048 {
		return fmt.Errorf("malformed: %d parts, %d characters", len(parts), len(ticket))
	}
	strict := base64.RawURLEncoding.Strict()
	mark, err := strict.DecodeString(parts[1])
	if err != nil || strings.ContainsAny(ticket, "\r\n") {
		return fmt.Errorf("signature: %w", err)
	}
	if !hmac.Equal(mark, sign(sign([]byte(token), "activeagents/browser-live-ticket/v1"), parts[0])) {
		return fmt.Errorf("signature")
	}
	text, err := strict.DecodeString(parts[0])
	if err != nil {
		return fmt.Errorf("malformed: %w", err)
	}
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("malformed: %w", err)
	}
	iat, iatOK := c["iat"].(float64)
	exp, expOK := c["exp"].(float64)
	_, jtiOK := c["jti"].(string)
	clock := float64(now.Unix())
	switch {
	case c["v"] != 1.0:
		return fmt.Errorf("malformed: v")
	case c["mode"] != "view" && c["mode"] != "control":
		return fmt.Errorf("malformed: mode")
	case !jtiOK || !iatOK || !expOK || iat != math.Trunc(iat) || !nullOrText(c["sub"]) || !nullOrText(c["name"]):
		return fmt.Errorf("malformed: a claim")
	case c["sid"] == nil:
		return fmt.Errorf("malformed: sid")
	case fmt.Sprintf("%T", c["sid"]) != "string":
		return fmt.Errorf("malformed: sid")
	case c["sid"] != session:
		return fmt.Errorf("sandbox")
	case exp <= iat, exp-iat > 60, iat > clock+10, exp <= clock:
		return fmt.Errorf("lifetime")
	}
	return nil
}

func nullOrText(v any) bool {
	_, ok := v.(string)
	return v == nil || ok
}

func sign(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// The expected ticket was computed with another language's standard library.
func TestTicketVector(t *testing.T) {
	claims := dashboard.Claims{
		"v": 1, "sid": session, "sub": "7", "name": "Ada", "mode": "control",
		"iat": 1790000000, "exp": 1790000030, "jti": "AAECAwQFBgcICQoLDA0ODw",
	}
	const want = "eyJleHAiOjE3OTAwMDAwMzAsImlhdCI6MTc5MDAwMDAwMCwianRpIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EdyIs" +
		"Im1vZGUiOiJjb250cm9sIiwibmFtZSI6IkFkYSIsInNpZCI6IjdmOWEyYzFlLTRiNWQtNGU2Zi04YTliLTBjMWQyZTNmNGE1YiIs" +
		"InN1YiI6IjciLCJ2IjoxfQ.X1pjXW0q_qjdNsGdkp84ygwyWFJ1EwyD0eaRQbJhanE"
	if got := issuer().Sign(claims); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestClaims(t *testing.T) {
	i := issuer()
	c := i.Claims(dashboard.View, dashboard.User{})
	if c["sub"] != nil || c["name"] != nil || c["mode"] != "view" || c["iat"] != now.Unix() || c["exp"] != now.Unix()+30 {
		t.Errorf("claims %v", c)
	}
	if a, b := i.Ticket(dashboard.View, user), i.Ticket(dashboard.View, user); a == b {
		t.Error("two tickets are the same")
	}
	if d := c.With("v", 2).Without("sid"); c["v"] != 1 || c["sid"] != session || d["v"] != 2 || d["sid"] != nil {
		t.Errorf("changing a copy changed %v, to %v", c, d)
	}
}

func TestSamples(t *testing.T) {
	i := issuer()
	for _, table := range []struct {
		name    string
		want    string // the refusal's first word; empty where it must be accepted
		samples []dashboard.Sample
		least   int
	}{
		{"good", "", i.Good(user), 8},
		{"forgeries", "malformed signature", i.Forgeries(user), 30},
		{"lifetimes", "lifetime", i.BadLifetimes(user), 10},
		{"sandboxes", "sandbox", i.OtherSandboxes(user), 7},
		{"shapes", "malformed", i.BadShapes(user), 35},
		{"non-canonical", "signature", []dashboard.Sample{i.NonCanonical(user)}, 1},
	} {
		if len(table.samples) < table.least {
			t.Errorf("%s: %d samples, want %d or more", table.name, len(table.samples), table.least)
		}
		names, tickets := make(map[string]bool), make(map[string]bool)
		for _, s := range table.samples {
			ticket := s.Make()
			switch err := check(ticket); {
			case table.want == "" && err != nil:
				t.Errorf("%s, %s: refused: %v", table.name, s.Name, err)
			case table.want != "" && err == nil:
				t.Errorf("%s, %s: accepted: %s", table.name, s.Name, ticket)
			case err != nil && !strings.Contains(table.want, strings.FieldsFunc(err.Error(), func(r rune) bool { return r == ':' })[0]):
				t.Errorf("%s, %s: refused for another reason: %v", table.name, s.Name, err)
			}
			if names[s.Name] || tickets[ticket] {
				t.Errorf("%s, %s: the name or the ticket is there twice", table.name, s.Name)
			}
			names[s.Name], tickets[ticket] = true, true
		}
	}
}

// A forgery must be wrong in its signature only, so that nothing else can be the reason for a refusal: the payload that it
// claims is one that would be accepted.
func TestForgeriesCarryGoodPayloads(t *testing.T) {
	i := issuer()
	for _, s := range i.Forgeries(user) {
		payload, mark, _ := strings.Cut(s.Make(), ".")
		if payload == "" || mark == "" || strings.Contains(s.Name, "payload") || strings.Contains(s.Name, "part") ||
			strings.Contains(s.Name, "JWT") || strings.Contains(s.Name, "blank") {
			continue // the payload itself is what was changed
		}
		if err := check(i.SignPayload(payload)); err != nil {
			t.Errorf("%s: its payload, well signed, is refused: %v", s.Name, err)
		}
	}
}

func TestAlphabetSamplesShowTheirAlphabet(t *testing.T) {
	for _, s := range issuer().Forgeries(user) {
		ticket := s.Make()
		switch {
		case strings.Contains(s.Name, "standard alphabet") && !strings.ContainsAny(ticket, "+/"):
			t.Errorf("%s: no '+' or '/' in %s", s.Name, ticket)
		case strings.Contains(s.Name, "padded") && !strings.Contains(ticket, "="):
			t.Errorf("%s: no '=' in %s", s.Name, ticket)
		}
	}
}

func TestNonCanonicalDecodesToTheSameBytes(t *testing.T) {
	_, mark, _ := strings.Cut(issuer().NonCanonical(user).Make(), ".")
	loose, err := base64.RawURLEncoding.DecodeString(mark)
	if err != nil {
		t.Fatal(err)
	}
	if canonical := base64.RawURLEncoding.EncodeToString(loose); canonical == mark || canonical[:42] != mark[:42] {
		t.Errorf("%s is canonical", mark)
	}
	if bytes.Equal(loose, make([]byte, 32)) {
		t.Error("the signature is empty")
	}
}
