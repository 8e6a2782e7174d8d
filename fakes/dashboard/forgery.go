package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Forgeries are tickets whose signature must be refused (ticket.signature): another key, an altered payload, no or a short
// signature, padding, other alphabets, unsigned.
func (i Issuer) Forgeries(user User) []Sample {
	good := func() (payload, signature string) {
		payload, signature, _ = strings.Cut(i.Ticket(Control, user), ".")
		return payload, signature
	}
	// resigned keeps the payload and puts another signature behind it.
	resigned := func(sign func(payload string) string) func() string {
		return func() string {
			payload, _ := good()
			return payload + "." + sign(payload)
		}
	}
	keyed := func(key []byte) func() string {
		return resigned(func(payload string) string { return encode(mac(key, payload)) })
	}
	rewritten := func(change func(payload, signature string) string) func() string {
		return func() string { return change(good()) }
	}
	signature := func(change func(mac []byte) string) func() string {
		return resigned(func(payload string) string { return change(mac(i.key(), payload)) })
	}
	raised := func() string {
		_, mark, _ := strings.Cut(i.Ticket(View, user), ".")
		return i.Claims(Control, user).payload() + "." + mark
	}
	return []Sample{
		{"the key of another token", keyed(Issuer{Token: i.Token + "x"}.key())},
		{"the token itself as key", keyed([]byte(i.Token))},
		{"the key's context swapped with the token", keyed(mac([]byte(keyContext), i.Token))},
		{"the key of another context", keyed(mac([]byte(i.Token), "activeagents/browser-live-ticket/v2"))},
		{"the key in hex", keyed([]byte(hex.EncodeToString(i.key())))},
		{"an empty key", keyed(nil)},
		{"another ticket's signature", raised},
		{"one payload character altered", rewritten(func(payload, mark string) string { return flip(payload, len(payload)/2) + "." + mark })},
		{"one payload character more", rewritten(func(payload, mark string) string { return payload + "A." + mark })},
		{"one signature character altered", rewritten(func(payload, mark string) string { return payload + "." + flip(mark, 0) })},
		{"no dot", rewritten(func(payload, _ string) string { return payload })},
		{"no signature", rewritten(func(payload, _ string) string { return payload + "." })},
		{"no payload", rewritten(func(_, mark string) string { return "." + mark })},
		{"only a dot", func() string { return "." }},
		{"nothing", func() string { return "" }},
		{"parts swapped", rewritten(func(payload, mark string) string { return mark + "." + payload })},
		{"a third part", rewritten(func(payload, mark string) string { return payload + "." + mark + "." + mark })},
		{"the shape of an unsigned JWT", rewritten(func(payload, _ string) string { return encode([]byte(`{"alg":"none"}`)) + "." + payload + "." })},
		{"a signature one byte short", signature(func(m []byte) string { return encode(m[:len(m)-1]) })},
		{"a signature of one byte", signature(func(m []byte) string { return encode(m[:1]) })},
		{"a signature one byte long", signature(func(m []byte) string { return encode(append(m, 0)) })},
		{"a signature of zeros", signature(func(m []byte) string { return encode(make([]byte, len(m))) })},
		{"a padded signature", rewritten(func(payload, mark string) string { return payload + "." + mark + "=" })},
		{"a signature in hex", signature(hex.EncodeToString)},
		{"a signature in the standard alphabet", i.standardSignature(user)},
		{"a payload in the standard alphabet", i.standardPayload(user)},
		{"a padded payload", i.paddedPayload(user)},
		{"a hash without a key", resigned(func(payload string) string { sum := sha256.Sum256([]byte(payload)); return encode(sum[:]) })},
		{"a signature by SHA-512", resigned(func(payload string) string {
			h := hmac.New(sha512.New, i.key())
			h.Write([]byte(payload))
			return encode(h.Sum(nil))
		})},
		{"a signature of the decoded payload", resigned(func(payload string) string {
			text, _ := decode(payload)
			return encode(mac(i.key(), string(text)))
		})},
		{"a blank before", rewritten(func(payload, mark string) string { return " " + payload + "." + mark })},
		{"a newline after", rewritten(func(payload, mark string) string { return payload + "." + mark + "\n" })},
		{"a NUL after", rewritten(func(payload, mark string) string { return payload + "." + mark + "\x00" })},
	}
}

// NonCanonical is a ticket whose signature has spare bits set: other text for the same bytes. The contract's sentence does
// not name it, so whether it is refused is a matter of good engineering.
func (i Issuer) NonCanonical(user User) Sample {
	return Sample{"a signature with spare bits set", func() string {
		ticket := i.Ticket(Control, user)
		// 32 bytes end in a character that carries four bits and two spare ones, which are zero.
		last := strings.IndexByte(alphabet, ticket[len(ticket)-1])
		return ticket[:len(ticket)-1] + string(alphabet[last|1])
	}}
}

// alphabet is base64url's (RFC 4648 §5).
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// standardSignature writes '+' and '/' in the signature; it looks for a ticket whose signature has one.
func (i Issuer) standardSignature(user User) func() string {
	return func() string {
		for {
			payload, mark, _ := strings.Cut(i.Ticket(Control, user), ".")
			if strings.ContainsAny(mark, "-_") {
				return payload + "." + standard(mark)
			}
		}
	}
}

// standardPayload has a well-signed payload with '+' or '/' in it.
func (i Issuer) standardPayload(user User) func() string {
	return func() string {
		// "???" and ">>>" are the texts whose encodings use the last two characters, at one of three alignments.
		claims := i.Claims(Control, user).With("name", "")
		for shift := range 3 {
			claims = claims.With("name", strings.Repeat(" ", shift)+"???ÿÿÿ")
			if payload := claims.payload(); strings.ContainsAny(payload, "-_") {
				return i.SignPayload(standard(payload))
			}
		}
		panic("dashboard: no alignment gives a character that differs between the alphabets")
	}
}

// paddedPayload has a well-signed payload with padding; it looks for a length that needs some.
func (i Issuer) paddedPayload(user User) func() string {
	return func() string {
		claims := i.Claims(Control, user)
		for n := 1; len(claims.payload())%4 == 0; n++ {
			claims = claims.With("name", strings.Repeat("a", n))
		}
		text, _ := decode(claims.payload())
		return i.SignPayload(base64.URLEncoding.EncodeToString(text))
	}
}

func standard(text string) string {
	return strings.NewReplacer("-", "+", "_", "/").Replace(text)
}

// flip changes one character to another one of the alphabet, in bits that are never spare.
func flip(text string, at int) string {
	n := strings.IndexByte(alphabet, text[at])
	return text[:at] + string(alphabet[n^32]) + text[at+1:]
}

func decode(text string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(text) }
