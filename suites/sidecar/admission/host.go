package admission

import (
	"fmt"
	"net/netip"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func hosts(l *lab.Lab) {
	// "Accepted as Host are: the listening address with its port; 127.0.0.1, localhost and [::1] with that port when the
	// sidecar listens on a loopback address …; Case does not matter."
	It("accepts the loopback names with its port", engine.Clause("admission.host-accepted"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, name := range []string{"127.0.0.1", "localhost", "[::1]", "LOCALHOST", "LocalHost"} {
			host := fmt.Sprintf("%s:%d", name, s.Port)
			attack.Accepted(ctx, s, "with Host "+host, s.Get("/health").Set("Host", host))
		}
	})

	// "… or on every interface"
	It("accepts them when it listens on every interface", engine.Clause("admission.host-accepted"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("host", "0.0.0.0") })
		for _, name := range []string{"127.0.0.1", "localhost", "[::1]"} {
			host := fmt.Sprintf("%s:%d", name, s.Port)
			attack.Accepted(ctx, s, "with Host "+host, s.Get("/health").Set("Host", host))
		}
	})

	// "Accepted as Host are: the listening address with its port; 127.0.0.1, localhost and [::1] with that port when the
	// sidecar listens on a loopback address or on every interface" – and not when it listens on another.
	DescribeTable("accepts the address that it listens on", engine.Clause("admission.host-accepted"),
		func(ctx SpecContext, host string, loopback bool) {
			s := attack.Start(ctx, l, func(c lab.Config) lab.Config { return c.With("host", host) })
			attack.Accepted(ctx, s, "with Host "+s.Addr, s.Get("/health"))
			var others []attack.Attack
			for _, name := range []string{"127.0.0.1", "localhost", "[::1]"} {
				other := fmt.Sprintf("%s:%d", name, s.Port)
				if loopback {
					attack.Accepted(ctx, s, "with Host "+other, s.Get("/health").Set("Host", other))
				} else {
					others = append(others, withHost(s, other))
				}
			}
			attack.Refused(ctx, s, s.Get("/health"), append(others, withHost(s, fmt.Sprintf("10.0.0.5:%d", s.Port))))
		},
		Entry("127.0.0.2", "127.0.0.2", true),
		Entry("a private address", "10.66.0.5", false),
	)

	// "… and the entries of allowed_hosts exactly as written. Case does not matter."
	It("accepts the entries of allowed_hosts as they are written", engine.Clause("admission.host-accepted"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, func(c lab.Config) lab.Config {
			return c.With("allowed_hosts", []string{"browser", "dash.test:9999", "[fd66::5]:4000"})
		})
		for _, host := range []string{"browser", "BROWSER", "dash.test:9999", "Dash.Test:9999", "[fd66::5]:4000", s.Addr} {
			attack.Accepted(ctx, s, "with Host "+host, s.Get("/health").Set("Host", host))
		}
		var attacks []attack.Attack
		for _, host := range []string{
			fmt.Sprintf("browser:%d", s.Port), "dash.test", "dash.test:9998", fmt.Sprintf("dash.test:%d", s.Port), "browser.", "rowser",
			"[fd66::5]", "x.browser", "browser.test",
		} {
			attacks = append(attacks, withHost(s, host))
		}
		attack.Refused(ctx, s, s.Get("/health"), attacks)
	})

	// "Any other Host is refused although the token is right: other names, an accepted name with no port or another port, a
	// trailing dot, short, decimal, octal and hexadecimal spellings of an address, a name that only begins or ends like an
	// accepted one …"
	It("refuses any other Host although the token is right", engine.Clause("admission.host-refused"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		names := []string{
			"evil.test", "127.0.0.1.", "localhost.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001",
			"127.0.0.01", "127.0.0.2", "evil.127.0.0.1", "127.0.0.1.evil.test", "localhost.evil.test", "evil-localhost",
			"sub.localhost", "localhostx", "xlocalhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[::1%25lo]",
			"[::1%lo]", "::1", "0", "user@127.0.0.1", "127.0.0.1@evil.test", "127.0.0.1%00", "%31%32%37.0.0.1", "127。0。0。1",
			"pub.test", "10.0.0.5",
		}
		var attacks []attack.Attack
		for _, name := range names {
			attacks = append(attacks, withHost(s, fmt.Sprintf("%s:%d", name, s.Port)))
		}
		for _, host := range []string{
			"127.0.0.1", "localhost", "[::1]", "127.0.0.1:", "localhost:", "127.0.0.1:0", "127.0.0.1:80", "localhost:443",
			fmt.Sprintf("127.0.0.1:%d", s.Port+1), fmt.Sprintf("127.0.0.1:0%d", s.Port), fmt.Sprintf("127.0.0.1:+%d", s.Port),
			fmt.Sprintf("127.0.0.1:%d0", s.Port), fmt.Sprintf("127.0.0.1:%d:%d", s.Port, s.Port),
			fmt.Sprintf("127.0.0.1:%d/", s.Port), fmt.Sprintf("http://127.0.0.1:%d", s.Port),
			fmt.Sprintf("127.0.0.1:%d, evil.test", s.Port), fmt.Sprintf("evil.test, 127.0.0.1:%d", s.Port),
			fmt.Sprintf("127.0.0.1:%d evil.test", s.Port), strings.Repeat("a", 5000),
		} {
			attacks = append(attacks, withHost(s, host))
		}
		attack.Refused(ctx, s, s.Get("/health"), attacks)
	})

	// "… and a name that resolves to the sidecar."
	It("refuses a name that resolves to it", engine.Clause("admission.host-refused"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		loopback := netip.MustParseAddr("127.0.0.1")
		engine.Harness(l.DNS.Set("rebound.test", dns.Answer(loopback)))
		attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{withHost(s, fmt.Sprintf("rebound.test:%d", s.Port))})
	})

	// "A request without a Host header is refused."
	It("refuses a request without a Host", engine.Clause("admission.host-missing"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		bare := s.Get("/health").Without("Host")
		old := bare
		old.Proto = "HTTP/1.0"
		attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{
			{Did: "GET /health by HTTP/1.1 without Host", Request: bare},
			{Did: "GET /health by HTTP/1.0 without Host", Request: old},
			{Did: "GET /health with an empty Host", Request: bare.Add("Host", "")},
			{Did: "POST /mcp without Host", Request: s.Post("/mcp", lab.InitializeBody(1)).Without("Host")},
		})
	})

	// "A request with two Host headers is refused with 400, whether they differ or not and whichever comes first."
	It("refuses two Host headers with 400", engine.Clause("admission.host-twice"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		right, bare := s.Addr, s.Get("/health").Without("Host")
		var attacks []attack.Attack
		for _, pair := range [][2]string{{right, "evil.test"}, {"evil.test", right}, {right, right}, {right, ""}} {
			attacks = append(attacks, attack.Attack{
				Did:     fmt.Sprintf("GET /health with Host %q and Host %q", pair[0], pair[1]),
				Request: bare.Add("Host", pair[0]).Add("Host", pair[1]), Want: []int{400},
			}, attack.Attack{
				Did:     fmt.Sprintf("GET /health with Host %q and hOST %q at the end", pair[0], pair[1]),
				Request: s.Get("/health").Set("Host", pair[0]).Add("hOST", pair[1]), Want: []int{400},
			})
		}
		attack.Refused(ctx, s, s.Get("/health"), attacks)
	})

	// "A request with an absolute-form target is judged by the authority in that target and not by its Host header."
	It("judges an absolute-form target by its own authority", engine.Clause("admission.host-absolute"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		right := "http://" + s.Addr + "/health"
		// "Refusing every absolute-form request keeps the first half only."
		attack.Accepted(ctx, s, "an accepted authority beside an accepted Host", s.Get(right))
		attack.Accepted(ctx, s, "an accepted authority beside a foreign Host", s.Get(right).Set("Host", "evil.test"))
		attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{
			{Did: "a foreign authority beside an accepted Host", Request: s.Get(fmt.Sprintf("http://evil.test:%d/health", s.Port))},
			{Did: "an accepted name with another port", Request: s.Get(fmt.Sprintf("http://127.0.0.1:%d/health", s.Port+1))},
			{Did: "an accepted authority as the user name of a foreign one", Request: s.Get("http://" + s.Addr + "@evil.test/health")},
		})
	})
}

// withHost is an attack whose Host alone is wrong.
func withHost(s *lab.Sidecar, host string) attack.Attack {
	return attack.Attack{Did: fmt.Sprintf("GET /health with Host %.100q", host), Request: s.Get("/health").Set("Host", host)}
}
