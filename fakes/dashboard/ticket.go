package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// keyContext separates the tickets' key from every other use of the token.
const keyContext = "activeagents/browser-live-ticket/v1"

// DefaultLifetime is that of the tickets that an issuer makes by itself. The contract allows 60 s.
const DefaultLifetime = 30 * time.Second

// Mode is what a ticket lets its viewer do.
type Mode string

// The modes.
const (
	View    Mode = "view"
	Control Mode = "control"
)

// User is whom a ticket is for; an empty ID or Name is null in the ticket.
type User struct {
	ID   string
	Name string
}

// Claims are a ticket's payload, by the names of the contract: v, sid, sub, name, mode, iat, exp, jti. Being a map, they
// can hold wrong types and leave things out.
type Claims map[string]any

// With is a copy with one claim set.
func (c Claims) With(name string, value any) Claims {
	c = maps.Clone(c)
	c[name] = value
	return c
}

// Without is a copy that lacks one claim.
func (c Claims) Without(name string) Claims {
	c = maps.Clone(c)
	delete(c, name)
	return c
}

// At is a copy that was issued at a time and lives for a while, in whole seconds.
func (c Claims) At(issued time.Time, lifetime time.Duration) Claims {
	return c.With("iat", issued.Unix()).With("exp", issued.Add(lifetime).Unix())
}

// payload is the text that is signed: base64url of the claims' JSON.
func (c Claims) payload() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("dashboard: claims that are no JSON: %v", err)) // a spec's own mistake
	}
	return encode(text)
}

// Issuer signs tickets for one sandbox's browser.
type Issuer struct {
	// Token is the sidecar's bearer token, from which the key is derived.
	Token string
	// Session is the sandbox session (the claim sid).
	Session string
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Claims are good ones, fresh, with an identifier of their own.
func (i Issuer) Claims(mode Mode, user User) Claims {
	c := Claims{
		"v": 1, "sid": i.Session, "sub": nil, "name": nil, "mode": string(mode), "jti": encode(randomBytes(16)),
	}
	if user.ID != "" {
		c["sub"] = user.ID
	}
	if user.Name != "" {
		c["name"] = user.Name
	}
	return c.At(i.now(), DefaultLifetime)
}

// Ticket is a good one, fresh, for one use.
func (i Issuer) Ticket(mode Mode, user User) string { return i.Sign(i.Claims(mode, user)) }

// Sign makes a ticket of any claims.
func (i Issuer) Sign(c Claims) string { return i.SignPayload(c.payload()) }

// SignPayload makes a ticket of any text before the dot.
func (i Issuer) SignPayload(payload string) string {
	return payload + "." + encode(mac(i.key(), payload))
}

func (i Issuer) key() []byte { return mac([]byte(i.Token), keyContext) }

func (i Issuer) now() time.Time {
	if i.Now == nil {
		return time.Now()
	}
	return i.Now()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// randomBytes never fails: crypto/rand ends the process instead.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
