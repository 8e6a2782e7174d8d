package report

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// writings are the ways in which output may spell a secret, without repetition.
func writings(secret string) [][]byte {
	lower := hex.EncodeToString([]byte(secret))
	texts := []string{
		secret,
		lower, strings.ToUpper(lower),
		url.QueryEscape(secret), lowerEscapes(url.QueryEscape(secret)),
		url.PathEscape(secret), lowerEscapes(url.PathEscape(secret)),
		percentAll(secret), lowerEscapes(percentAll(secret)),
		inner(strconv.Quote(secret)), inner(strconv.QuoteToASCII(secret)),
		asXML(secret),
	}
	for _, escapeHTML := range []bool{true, false} {
		once := asJSON(secret, escapeHTML)
		// JSON inside a JSON string, as in a transcript that quotes a body.
		texts = append(texts, once, asJSON(once, true), asJSON(once, false))
	}
	texts = append(texts, asBase64(secret)...)
	slices.Sort(texts)
	texts = slices.Compact(texts)
	forms := make([][]byte, 0, len(texts))
	for _, t := range texts {
		if len(t) >= minSecret {
			forms = append(forms, []byte(t))
		}
	}
	return forms
}

// asBase64 is the whole encoding, padded and not, and what stays the same of it when the secret stands anywhere inside a
// longer text (as in "user:secret"): three alignments, of which the characters shared with neighbours are cut off.
func asBase64(secret string) []string {
	var texts []string
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		whole := alphabet.EncodeToString([]byte(secret))
		padding := strings.Repeat("=", (4-len(whole)%4)%4)
		texts = append(texts, whole, whole+padding)
		for shift := range 3 {
			text := alphabet.EncodeToString(append(make([]byte, shift), secret...))
			from := (shift*8 + 5) / 6           // characters that carry bits of what stands before
			to := (shift + len(secret)) * 8 / 6 // characters that carry bits of the secret only
			texts = append(texts, text[from:to])
		}
	}
	return texts
}

func percentAll(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// lowerEscapes writes the two digits of every percent escape in lower case.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

func asJSON(text string, escapeHTML bool) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(text); err != nil {
		return text // a string always has an encoding
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

func asXML(text string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return text // a buffer takes everything
	}
	return b.String()
}

// inner is a quoted text without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
