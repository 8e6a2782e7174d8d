package admission

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func origins(l *lab.Lab) {
	// "A request with an Origin header is refused on every path but /live, whatever the header's value: a site's, null,
	// empty, the sidecar's own, the dashboard's."
	It("refuses any Origin on every path", engine.Clause("admission.origin-refused"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		var attacks []attack.Attack
		for _, origin := range []string{"http://evil.test", "null", "", "http://" + s.Addr, l.AppURL("")} {
			for _, p := range places() {
				if p.path == "/live" {
					continue
				}
				attacks = append(attacks, attack.Attack{
					Did: fmt.Sprintf("%s with Origin %q", p, origin), Request: p.at(s).Add("Origin", origin),
				})
			}
		}
		attack.Refused(ctx, s, s.Get("/health"), attacks)
	})

	// "… the dashboard's."
	It("refuses the dashboard's Origin too", engine.Clause("admission.origin-refused"), func(ctx SpecContext) {
		dashboard := "http://dash.test:9000"
		s := attack.Start(ctx, l, func(c lab.Config) lab.Config {
			return c.With("live", map[string]any{"session_id": "lab", "origins": []string{dashboard}})
		})
		attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{
			{Did: "GET /health with the dashboard's Origin", Request: s.Get("/health").Add("Origin", dashboard)},
			{Did: "POST /mcp with the dashboard's Origin", Request: s.Post("/mcp", lab.InitializeBody(1)).Add("Origin", dashboard)},
			{Did: "GET /health with oRIGIN", Request: s.Get("/health").Add("oRIGIN", dashboard)},
		})
	})

	// "A CORS preflight (OPTIONS with Origin and Access-Control-Request-Method) is refused, with a token and without."
	It("refuses a CORS preflight", engine.Clause("admission.preflight"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		var attacks []attack.Attack
		for _, path := range []string{"/mcp", "/health", "/tokens", "/nowhere"} {
			preflight := s.Get(path).As("OPTIONS").Add("Origin", "http://evil.test").
				Add("Access-Control-Request-Method", "POST").Add("Access-Control-Request-Headers", "authorization,content-type").
				Add("Access-Control-Request-Private-Network", "true")
			attacks = append(attacks,
				attack.Attack{Did: "a preflight for " + path + " with the token", Request: preflight},
				attack.Attack{Did: "a preflight for " + path + " without", Request: preflight.Without("Authorization")})
		}
		attack.Refused(ctx, s, s.Get("/health"), attacks)
	})

	// "No answer carries a header whose name begins with Access-Control-, errors included."
	It("sends no CORS header with any answer", engine.Clause("admission.no-cors"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, p := range places() {
			for did, r := range map[string]lab.Request{
				"admitted":        p.at(s),
				"with an Origin":  p.at(s).Add("Origin", "http://evil.test"),
				"without a token": p.at(s).Without("Authorization"),
				"with a bad Host": p.at(s).Set("Host", "evil.test"),
				"as a preflight":  p.at(s).As("OPTIONS").Add("Origin", l.AppURL("")).Add("Access-Control-Request-Method", "GET"),
			} {
				answer, err := s.Do(ctx, r)
				Expect(err).NotTo(HaveOccurred(), "%s %s", p, did)
				for name := range answer.Header {
					Expect(strings.ToLower(name)).NotTo(HavePrefix("access-control-"), "%s %s", p, did)
				}
			}
		}
		attack.Accepted(ctx, s, "the control", s.Get("/health"))
	})
}
