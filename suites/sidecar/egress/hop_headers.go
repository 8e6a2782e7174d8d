package egress

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// hopMark is in the value of every header that must not pass: the proxy may send some of the same names of its own.
const hopMark = "for-this-hop"

// kept are headers of a request that go to the origin as they are.
func kept() map[string]string {
	return map[string]string{
		"X-Kept": "kept, as it is", "Cookie": "a=1; b=2", "Authorization": "Basic a2VwdA==", "User-Agent": "conformance/1 (kept)",
		"Accept-Language": "de;q=0.7, en", "Range": "bytes=0-99", "X-Proxy-Like": "proxy-kept", "Unproxied": "kept", "Accept": "*/*;kept=1",
	}
}

// hopByHop are the header lines that end at the proxy, in several forms of a request (RFC 9110 §7.6.1).
func hopByHop() map[string][]string {
	return map[string][]string{
		"Proxy-*": {
			"Proxy-Authorization: Basic " + hopMark, "Proxy-Connection: keep-alive, " + hopMark, "Proxy-Foo: " + hopMark,
			"proxy-bar: " + hopMark, "PROXY-AUTHENTICATE: " + hopMark, "Proxy-Authentication-Info: " + hopMark,
		},
		"known ones": {"Keep-Alive: timeout=5, " + hopMark, "TE: " + hopMark + ";q=0.5", "Trailer: " + hopMark, "Upgrade: " + hopMark + "/1"},
		"listed": {
			"Connection: close, X-Listed", "connection: x-also-listed,X-Third ,", "X-Listed: " + hopMark, "X-ALSO-LISTED: " + hopMark,
			"x-third: " + hopMark, "Listed-Too: " + hopMark, "Connection: Listed-Too",
		},
		"upgrade": {"Connection: Upgrade, HTTP2-Settings", "Upgrade: " + hopMark, "HTTP2-Settings: " + hopMark},
		"te":      {"Connection: TE", "TE: trailers, " + hopMark},
	}
}

func hopHeaders(l *lab.Lab) {
	// "Proxy-* headers and other hop-by-hop headers of a request do not reach the origin."
	It("keeps hop-by-hop headers from the origin and passes all others on", engine.Clause("egress.hop-headers"),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			p := proxy(ctx, s)
			authority := lab.Authority(l.Public(0), lab.SitePort)
			for form, lines := range hopByHop() {
				path := "/cors?form=" + strings.ReplaceAll(form, " ", "-")
				request := lab.Request{Method: "GET", Target: "http://" + authority + path, Proto: "HTTP/1.1"}.Add("Host", authority)
				for name, value := range kept() {
					request = request.Add(name, value)
				}
				request.Header = append(request.Header, lines...)
				answer, err := p.Do(ctx, request)
				Expect(err).NotTo(HaveOccurred(), "a request with hop-by-hop headers (%s)", form)
				Expect(answer.Status).To(Equal(200), "a request with hop-by-hop headers (%s): %s", form, answer)
				arrived := headerOf(l, path)
				for name, value := range kept() {
					Expect(arrived.Values(name)).To(Equal([]string{value}), "%s at the origin, beside hop-by-hop headers (%s)", name, form)
				}
				wantNoHopHeader(arrived, fmt.Sprintf("a request with hop-by-hop headers (%s)", form))
			}
			attack.Alive(ctx, s)
		})

	// Chromium itself sends its proxy such headers.
	It("keeps a page's hop-by-hop headers from the origin", engine.Clause("egress.hop-headers"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		var text string
		fetch := fmt.Sprintf("() => fetch(%q, {headers: {'X-Kept': 'kept'}}).then(r => r.text())", l.PublicURL(0, "/cors?form=page"))
		Expect(session.Evaluate(ctx, fetch, &text)).To(Succeed(), "fetching from a public site")
		arrived := headerOf(l, "/cors?form=page")
		Expect(arrived.Values("X-Kept")).To(Equal([]string{"kept"}), "X-Kept at the origin, which the page sent")
		wantNoHopHeader(arrived, "a page's request")
	})
}

// headerOf is the header of the one request for a target that reached a site.
func headerOf(l *lab.Lab, target string) http.Header {
	GinkgoHelper()
	for _, r := range l.Sites.Requests() {
		if r.Target == target && r.Method != http.MethodOptions {
			return r.Header
		}
	}
	engine.Fail("asking a public site for "+target, []string{"the request at the site"}, "none")
	return nil
}

// wantNoHopHeader wants nothing of a request's hop-by-hop headers among those that arrived.
func wantNoHopHeader(arrived http.Header, did string) {
	GinkgoHelper()
	for name, values := range arrived {
		line := name + ": " + strings.Join(values, ", ")
		listed := strings.EqualFold(name, "Connection") && slices.ContainsFunc(values, func(v string) bool {
			return strings.Contains(strings.ToLower(v), "listed") || strings.Contains(strings.ToLower(v), "x-third")
		})
		if strings.Contains(line, hopMark) || strings.HasPrefix(name, "Proxy-") || listed {
			engine.Fail(did, []string{"no hop-by-hop header of it at the origin"}, line)
		}
	}
}
