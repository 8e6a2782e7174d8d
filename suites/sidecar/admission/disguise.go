package admission

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// upgrade makes a WebSocket handshake of a request (RFC 6455 §4.1).
func upgrade(r lab.Request) lab.Request {
	return r.Add("Connection", "Upgrade").Add("Upgrade", "websocket").Add("Sec-WebSocket-Version", "13").
		Add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
}

func disguises(l *lab.Lab) {
	// "An upgrade request to any path but /live has to pass the same three checks, and one that passes them is answered 404
	// or 400. No socket opens either way."
	It("opens no socket but the live view's", engine.Clause("admission.upgrade"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		var attacks []attack.Attack
		for _, path := range []string{"/mcp", "/health", "/", "/nowhere", "/live/", "/live/x", "/ws", "/tokens"} {
			r := upgrade(s.Get(path))
			attacks = append(attacks,
				attack.Attack{Did: "an admitted upgrade of " + path, Request: r, Want: []int{400, 404}},
				attack.Attack{Did: "an upgrade of " + path + " without a token", Request: r.Without("Authorization"), Want: unauthorized()},
				attack.Attack{Did: "an upgrade of " + path + " with a bad Host", Request: r.Set("Host", "evil.test")},
				attack.Attack{Did: "an upgrade of " + path + " with an Origin", Request: r.Add("Origin", "http://evil.test")},
			)
		}
		attack.Refused(ctx, s, s.Get("/health"), attacks)
	})

	// "A refused request changes nothing: it … navigates nowhere and runs no tool."
	It("runs no tool for a refused call", engine.Clause("admission.no-effect"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		session := attack.Connect(ctx, s)
		call := func(path string) lab.Request {
			return session.CallRequest("browser_navigate", map[string]any{"url": l.AppURL(path)})
		}
		attack.Accepted(ctx, s, "the control", call("/status?code=200&control=1"))
		Expect(l.Sites.RequestsTo(l.AppAddr().String(), "/status")).To(HaveLen(1), "the control's navigation arrives at the app")
		attack.Refused(ctx, s, s.Get("/health"), refusals(call("/refused-navigation")))
		// The session's calls are served in their order, so that this one comes behind whatever a refused one started.
		attack.Accepted(ctx, s, "the control afterwards", call("/status?code=200&control=2"))
		Expect(l.Sites.RequestsTo(l.AppAddr().String(), "/status")).To(HaveLen(2), "the second control's navigation arrives at the app")
		Expect(l.Sites.RequestsTo(l.AppAddr().String(), "/refused-navigation")).To(BeEmpty(), "navigations of refused calls")
	})

	// "A refused request changes nothing: it opens or ends no session …"
	It("ends no session for a refused DELETE", engine.Clause("admission.no-effect"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		session := attack.Connect(ctx, s)
		attack.Refused(ctx, s, s.Get("/health"), refusals(session.DeleteRequest()))
		_, err := session.Request(ctx, "ping", nil)
		Expect(err).NotTo(HaveOccurred(), "pinging the session that the refused requests tried to end")
	})

	// "A refused request changes nothing: it opens … no session"
	It("opens no session for a refused initialize", engine.Clause("admission.no-effect"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, a := range refusals(s.Post("/mcp", lab.InitializeBody(1))) {
			answer, err := s.Do(ctx, a.Request)
			Expect(err).NotTo(HaveOccurred(), a.Did)
			Expect(answer.Header.Get("Mcp-Session-Id")).To(BeEmpty(), "the session id in the answer to %s", a.Did)
		}
		attack.Connect(ctx, s)
	})

	// "A refused request changes nothing: it … makes or revokes no token …"
	It("makes and revokes no token for a refused request", engine.Clause("admission.no-effect"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		mint := s.Post("/tokens", []byte(`{"label":"conformance"}`))
		for _, a := range refusals(mint) {
			answer, err := s.Do(ctx, a.Request)
			Expect(err).NotTo(HaveOccurred(), a.Did)
			var made struct{ Token string }
			_ = json.Unmarshal(answer.Body, &made) // an answer that is no JSON gives no token
			Expect(made.Token).To(BeEmpty(), "the token in the answer to %s", a.Did)
		}
		answer, err := s.Do(ctx, mint)
		Expect(err).NotTo(HaveOccurred(), "the control: minting a token")
		if answer.Status == 404 {
			return // a sidecar without the profile "tokens" has none to make
		}
		Expect(answer.Status/100).To(Equal(2), "the control: minting a token: %s", answer)
		var made struct{ ID, Token string }
		Expect(json.Unmarshal(answer.Body, &made)).To(Succeed(), "reading the answer to POST /tokens: %s", answer)
		revoke := s.Get("/tokens/" + made.ID).As("DELETE")
		attack.Refused(ctx, s, s.Get("/health"), refusals(revoke))
		client := s.Post("/mcp", lab.InitializeBody(1)).Set("Authorization", "Bearer "+made.Token)
		attack.Accepted(ctx, s, "with the token that the refused requests tried to revoke", client)
		answer, err = s.Do(ctx, revoke)
		Expect(err).NotTo(HaveOccurred(), "the control: revoking the token")
		Expect(answer.Status/100).To(Equal(2), "the control: revoking the token: %s", answer)
	})

	// "X-Forwarded-*, Forwarded, X-Host, X-Original-URL, X-Rewrite-URL and method overrides change no decision, neither to
	// admit nor to refuse."
	It("is not swayed by forwarding headers", engine.Clause("admission.forwarded"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, disguise := range []struct{ name, good, bad string }{
			{"X-Forwarded-Host", s.Addr, "evil.test"},
			{"X-Forwarded-For", "127.0.0.1", "10.0.0.5"},
			{"X-Forwarded-Proto", "http", "https"},
			{"X-Forwarded-Port", fmt.Sprint(s.Port), "1"},
			{"X-Forwarded-Server", s.Addr, "evil.test"},
			{"X-Forwarded-Prefix", "/health", "/nowhere"},
			{"Forwarded", "for=127.0.0.1;host=" + s.Addr, "for=10.0.0.5;host=evil.test"},
			{"X-Host", s.Addr, "evil.test"},
			{"X-Real-IP", "127.0.0.1", "10.0.0.5"},
			{"X-Original-URL", "/health", "/nowhere"},
			{"X-Rewrite-URL", "/health", "/nowhere"},
			{"X-Original-Host", s.Addr, "evil.test"},
			{"X-HTTP-Method-Override", "GET", "DELETE"},
			{"X-Method-Override", "GET", "DELETE"},
			{"X-HTTP-Method", "GET", "DELETE"},
		} {
			attack.Accepted(ctx, s, "with "+disguise.name+": "+disguise.bad, s.Get("/health").Add(disguise.name, disguise.bad))
			var attacks []attack.Attack
			for _, a := range refusals(s.Get("/health")) {
				a.Did += " and with " + disguise.name + ": " + disguise.good
				a.Request = a.Request.Add(disguise.name, disguise.good)
				attacks = append(attacks, a)
			}
			missing := s.Get("/nowhere").Add(disguise.name, disguise.good)
			attacks = append(attacks,
				attack.Attack{Did: "GET /nowhere with " + disguise.name + ": " + disguise.good, Request: missing, Want: []int{404}})
			attack.Refused(ctx, s, s.Get("/health"), attacks)
		}
	})
}

// refusals are three ways to spoil an admitted request.
func refusals(r lab.Request) []attack.Attack {
	did := r.Method + " " + r.Target
	return []attack.Attack{
		{Did: did + " without a token", Request: r.Without("Authorization"), Want: unauthorized()},
		{Did: did + " with a foreign Host", Request: r.Set("Host", "evil.test")},
		{Did: did + " with an Origin", Request: r.Add("Origin", "http://evil.test")},
	}
}
