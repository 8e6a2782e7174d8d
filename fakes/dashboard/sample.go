package dashboard

import (
	"strings"
	"time"
)

// Sample is a kind of ticket, named for a table of specs. Make makes a fresh one each time, so that time and single use
// don't spoil the next.
type Sample struct {
	Name string
	Make func() string
}

// Good are tickets that must be accepted (ticket.accepts).
func (i Issuer) Good(user User) []Sample {
	claims := func() Claims { return i.Claims(Control, user) }
	return []Sample{
		{"mode view", func() string { return i.Ticket(View, user) }},
		{"mode control", func() string { return i.Ticket(Control, user) }},
		{"sub null", func() string { return i.Sign(claims().With("sub", nil)) }},
		{"name null", func() string { return i.Sign(claims().With("name", nil)) }},
		{"sub and name null", func() string { return i.Sign(claims().With("sub", nil).With("name", nil)) }},
		{"a lifetime of 60 s", func() string { return i.Sign(claims().At(i.now(), time.Minute)) }},
		{"issued 4 s ahead", func() string { return i.Sign(claims().At(i.now().Add(4*time.Second), DefaultLifetime)) }},
		{"issued 4 s ago", func() string { return i.Sign(claims().At(i.now().Add(-4*time.Second), DefaultLifetime)) }},
	}
}

// BadLifetimes are tickets whose times must be refused (ticket.lifetime).
func (i Issuer) BadLifetimes(user User) []Sample {
	at := func(ahead, lifetime time.Duration) func() string {
		return func() string { return i.Sign(i.Claims(Control, user).At(i.now().Add(ahead), lifetime)) }
	}
	return []Sample{
		// Twelve seconds are beyond every skew that the contract lets a sidecar forgive.
		{"expired 12 s ago", at(-42*time.Second, 30*time.Second)},
		{"expired an hour ago", at(-time.Hour, 30*time.Second)},
		{"a lifetime of 61 s", at(0, 61*time.Second)},
		{"a lifetime of an hour", at(0, time.Hour)},
		{"a lifetime of a century", at(0, 876_000*time.Hour)},
		{"exp equal to iat", at(2*time.Second, 0)},
		{"exp before iat", at(8*time.Second, -3*time.Second)},
		// Ten seconds may be forgiven; two more keep a slow machine from making the ticket fair.
		{"issued 12 s ahead", at(12*time.Second, 30*time.Second)},
		{"issued an hour ahead", at(time.Hour, 30*time.Second)},
		{"iat in the distant past", func() string { return i.Sign(i.Claims(Control, user).With("iat", 0)) }},
		{"times in milliseconds", func() string {
			now := i.now().UnixMilli()
			return i.Sign(i.Claims(Control, user).With("iat", now).With("exp", now+30_000))
		}},
	}
}

// OtherSandboxes are tickets that name another session (ticket.sandbox).
func (i Issuer) OtherSandboxes(user User) []Sample {
	sid := func(value string) func() string {
		return func() string { return i.Sign(i.Claims(Control, user).With("sid", value)) }
	}
	return []Sample{
		{"another sid", sid("another-session")},
		{"an empty sid", sid("")},
		{"a prefix of the sid", sid(i.Session[:len(i.Session)/2])},
		{"the sid with more", sid(i.Session + "0")},
		{"the sid in another case", sid(swapCase(i.Session))},
		{"the sid with a blank", sid(" " + i.Session)},
		{"a pattern", sid("*")},
	}
}

// BadShapes are well-signed tickets whose payload is not as the contract says (ticket.shape).
func (i Issuer) BadShapes(user User) []Sample {
	claims := func(change func(Claims) Claims) func() string {
		return func() string { return i.Sign(change(i.Claims(Control, user))) }
	}
	set := func(name string, value any) Sample {
		return Sample{name + " as " + Claims{"": value}.brief(), claims(func(c Claims) Claims { return c.With(name, value) })}
	}
	payload := func(text string) func() string {
		return func() string { return i.SignPayload(encode([]byte(text))) }
	}
	samples := []Sample{
		set("v", 0), set("v", 2), set("v", "1"), set("v", nil), set("v", true),
		set("mode", "admin"), set("mode", "CONTROL"), set("mode", ""), set("mode", nil), set("mode", []string{"control"}),
		set("sid", nil), set("sid", []string{i.Session}),
		set("iat", nil), set("iat", "now"), set("iat", true), set("exp", nil), set("exp", "later"), set("exp", []int{1}),
		set("jti", nil), set("jti", 7), set("jti", []string{"a"}),
		set("sub", 7), set("sub", map[string]any{"id": "7"}), set("name", 7), set("name", []string{"Ada"}),
	}
	for _, name := range []string{"v", "sid", "mode", "iat", "exp", "jti"} {
		samples = append(samples, Sample{"no " + name, claims(func(c Claims) Claims { return c.Without(name) })})
	}
	return append(
		samples,
		Sample{"not JSON", payload("v=1&mode=control")},
		Sample{"JSON null", payload("null")},
		Sample{"a JSON list", payload("[]")},
		Sample{"a JSON string", payload(`"ticket"`)},
		Sample{"an empty object", payload("{}")},
		Sample{"an empty payload", payload("")},
		Sample{"two JSON values", func() string {
			text, _ := decode(i.Claims(Control, user).payload())
			return i.SignPayload(encode(append(text, "{}"...)))
		}},
		Sample{"broken UTF-8", payload("{\"v\":1,\"sid\":\"\xff\"}")},
		Sample{"over-long", claims(func(c Claims) Claims { return c.With("name", strings.Repeat("a", 32<<10)) })},
	)
}

// brief shows the one value as JSON.
func (c Claims) brief() string {
	text, _ := decode(c.payload())
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"":`), "}")
}

// swapCase gives a text that differs, if at all possible, by case only.
func swapCase(text string) string {
	if upper := strings.ToUpper(text); upper != text {
		return upper
	}
	if lower := strings.ToLower(text); lower != text {
		return lower
	}
	return text + "A"
}
