package admission

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func unauthorized() []int { return []int{401, 403} }

func tokens(l *lab.Lab) {
	// "A request to any path by any method without a valid bearer token is answered 401 or 403."
	It("refuses every path and method without a token", engine.Clause("admission.token-required"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		attack.Refused(ctx, s, s.Get("/health"), everywhere(s, "without a token", unauthorized(), func(r lab.Request) lab.Request {
			return r.Without("Authorization")
		}))
	})

	// "A request to any path by any method without a valid bearer token is answered 401 or 403."
	It("refuses every path and method with a wrong token", engine.Clause("admission.token-required"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		wrong := "Bearer " + strings.Repeat("x", len(s.Token()))
		attack.Refused(ctx, s, s.Get("/health"), everywhere(s, "with a wrong token", unauthorized(), func(r lab.Request) lab.Request {
			return r.Set("Authorization", wrong)
		}))
	})

	// "Unknown paths are answered the same way as known ones, so that nobody without a token can tell the routes apart."
	It("answers unknown paths without a token as it answers known ones", engine.Clause("admission.token-required"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		var first string
		for _, p := range places() {
			if p.method == "HEAD" {
				continue // it has no body to compare
			}
			answer, err := s.Do(ctx, p.at(s).Without("Authorization"))
			Expect(err).NotTo(HaveOccurred(), "%s without a token", p)
			got := fmt.Sprintf("%d %s %s %s", answer.Status, answer.Header.Get("Content-Type"), answer.Header.Get("Allow"), answer.Body)
			if first == "" {
				first = got
			}
			Expect(got).To(Equal(first), "%s without a token, compared with %s", p, places()[0])
		}
		attack.Accepted(ctx, s, "the control", s.Get("/health"))
		missing, err := s.Do(ctx, s.Get("/nowhere"))
		Expect(err).NotTo(HaveOccurred(), "GET /nowhere with the token")
		Expect(missing.Status).To(Equal(404), "GET /nowhere with the token, which tells the paths apart")
	})

	// "The token counts only as the single credential of the scheme Bearer in the Authorization header, equal to the whole
	// token."
	DescribeTable("refuses the token in another form", engine.Clause("admission.token-forms"),
		func(ctx SpecContext, change func(r lab.Request, token string) lab.Request) {
			s := attack.Sidecar(ctx, l)
			form := CurrentSpecReport().LeafNodeText
			attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{{
				Did: "GET /health with the token " + form, Request: change(s.Get("/health"), s.Token()),
			}, {
				Did:     "POST /mcp with the token " + form,
				Request: change(s.Post("/mcp", lab.InitializeBody(1)), s.Token()),
			}})
		},
		header("under the scheme Token", func(t string) string { return "Token " + t }),
		header("under the scheme Basic", func(t string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+t))
		}),
		header("under no scheme", func(t string) string { return t }),
		header("as an empty credential", func(string) string { return "Bearer" }),
		header("as an empty credential after a blank", func(string) string { return "Bearer " }),
		header("without a blank", func(t string) string { return "Bearer" + t }),
		header("with a second word", func(t string) string { return "Bearer " + t + " x" }),
		header("as the second word", func(t string) string { return "Bearer x " + t }),
		header("twice in one header", func(t string) string { return "Bearer " + t + ", Bearer " + t }),
		header("in quotes", func(t string) string { return `Bearer "` + t + `"` }),
		header("without its last character", func(t string) string { return "Bearer " + t[:len(t)-1] }),
		header("without its first character", func(t string) string { return "Bearer " + t[1:] }),
		header("with one character more", func(t string) string { return "Bearer " + t + "x" }),
		header("in other case", func(t string) string { return "Bearer " + swapCase(t) }),
		header("as its prefix and an asterisk", func(t string) string { return "Bearer " + t[:8] + "*" }),
		header("as another token with the right one behind a NUL's escape", func(t string) string { return "Bearer x%00" + t }),
		header("as key=value", func(t string) string { return "Bearer token=" + t }),
		Entry("in the query", func(r lab.Request, token string) lab.Request {
			return r.Without("Authorization").To(r.Target + "?token=" + token + "&access_token=" + token)
		}),
		Entry("in a cookie", func(r lab.Request, token string) lab.Request {
			return r.Without("Authorization").Add("Cookie", "token="+token+"; access_token="+token+"; Authorization=Bearer "+token)
		}),
		Entry("in other headers", func(r lab.Request, token string) lab.Request {
			return r.Without("Authorization").Add("X-Authorization", "Bearer "+token).Add("Proxy-Authorization", "Bearer "+token).
				Add("X-Api-Key", token)
		}),
		Entry("in a fragment of the target", func(r lab.Request, token string) lab.Request {
			return r.Without("Authorization").To(r.Target + "#" + token)
		}),
		Entry("as a user name in the target", func(r lab.Request, token string) lab.Request {
			return r.Without("Authorization").To("http://" + token + "@" + hostOf(r) + r.Target)
		}),
		Entry("in another header, beside a wrong one", func(r lab.Request, token string) lab.Request {
			return r.Set("Authorization", "Bearer "+strings.Repeat("y", len(token))).Add("X-Forwarded-Authorization", "Bearer "+token)
		}),
		Entry("in two headers, a half in each", func(r lab.Request, token string) lab.Request {
			return r.Set("Authorization", "Bearer "+token[:len(token)/2]).Add("Authorization", "Bearer "+token[len(token)/2:])
		}),
		Entry("in two headers, the scheme in one and the token in the other", func(r lab.Request, token string) lab.Request {
			return r.Set("Authorization", "Bearer").Add("Authorization", token)
		}),
		Entry("in the body", func(r lab.Request, token string) lab.Request {
			r = r.Without("Authorization").As("POST").Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = []byte("access_token=" + token)
			return r.Set("Content-Length", strconv.Itoa(len(r.Body)))
		}),
	)

	// "… the case of the word Bearer is free."
	It("takes the scheme in any case", engine.Clause("admission.token-forms"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, scheme := range []string{"Bearer", "bearer", "BEARER", "bEaReR"} {
			attack.Accepted(ctx, s, "with the scheme "+scheme, s.Get("/health").Set("Authorization", scheme+" "+s.Token()))
		}
	})
}

// hostOf is the value of a request's Host header.
func hostOf(r lab.Request) string {
	for _, line := range r.Header {
		if host, ok := strings.CutPrefix(line, "Host: "); ok {
			return host
		}
	}
	return ""
}

// header is an entry that changes the Authorization header alone.
func header(name string, value func(token string) string) TableEntry {
	return Entry(name, func(r lab.Request, token string) lab.Request { return r.Set("Authorization", value(token)) })
}

func swapCase(s string) string {
	swapped := strings.ToLower(s)
	if swapped == s {
		swapped = strings.ToUpper(s)
	}
	return swapped
}
