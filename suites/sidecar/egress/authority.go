package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// refuseWithin bounds a refusal of what is malformed.
const refuseWithin = 5 * time.Second

// targetName is the public name that malformed authorities are made of; it ends at one public address.
const targetName = "target.evil.test"

// malformed are authorities that are none, for a plain request as for CONNECT, made of a public name, an IPv4 and an IPv6
// address.
func malformed(l *lab.Lab) []string {
	v4, v6, port := l.Public(1).String(), l.Public(3).String(), fmt.Sprint(lab.SitePort)
	wrapped := fmt.Sprint(1<<16 + lab.SitePort)
	return []string{
		"[[" + targetName + "]]:" + port, "[[" + v4 + "]]:" + port, "[[" + v6 + "]]:" + port, "[" + v6 + "]]:" + port, "[[" + v6 + "]:" + port,
		v6 + "]:" + port, "[" + v6 + ":" + port, "[]:" + port, "[" + v6 + "]x:" + port, "x[" + v6 + "]:" + port, "[" + v6 + "]" + port,
		"[" + targetName + "]:" + port, "[" + v4 + "]:" + port, "[127.0.0.1]:8000", "[10.0.0.5]:8000", "[localhost]:8000",
		"a@" + v4 + ":" + port, "user:pass@" + v4 + ":" + port, "user:pass@" + targetName + ":" + port, "a@10.0.0.5:8000",
		targetName + "@10.0.0.5:8000", targetName + ":" + port + "@10.0.0.5:8000", "10.0.0.5:8000@" + v4 + ":" + port,
		"127.0.0.1:3000@10.0.0.5:8000", "10.0.0.5@127.0.0.1:3000",
		v4 + " :" + port, v4 + ": " + port, "10.0.0.5 :8000", "target .evil.test:" + port, targetName + "\t:" + port, targetName + ":\t" + port,
		targetName + "\x0b:" + port, targetName + "\x0c:" + port, targetName + "\r:" + port,
		targetName + "\x00:" + port, targetName + "\x00.test:" + port, "10.0.0.5\x00." + targetName + ":8000", targetName + "\x7f:" + port,
		targetName + ":0", v4 + ":0", targetName + ":-1", targetName + ":-" + port, targetName + ":" + wrapped, v4 + ":" + wrapped,
		"[" + v6 + "]:" + wrapped, targetName + ":65536", targetName + ":65616", targetName + ":18446744073709559696",
		targetName + ":+" + port, targetName + ":" + port + "x", targetName + ":0x1f90", targetName + ":" + port + ".0", targetName + ":８０８０",
		targetName + ":" + port + ":" + port, targetName + ":" + port + ":8090", v4 + "::" + port, ":" + port, "",
	}
}

// malformedTargets are the targets of a CONNECT that no plain request can have.
func malformedTargets(l *lab.Lab) []string {
	v4, v6, port := l.Public(1).String(), l.Public(3).String(), fmt.Sprint(lab.SitePort)
	return []string{
		targetName + ":" + port + "/", targetName + ":" + port + "/x", v4 + ":" + port + "/x", "[" + v6 + "]:" + port + "/x",
		targetName + ":" + port + "?x", targetName + ":" + port + "#x", targetName + "/:" + port, "/" + targetName + ":" + port,
		"//" + targetName + ":" + port, "http://" + targetName + ":" + port, "http://" + targetName + ":" + port + "/",
		targetName, v4, "[" + v6 + "]", targetName + ":", v4 + ":", "/", "*", targetName + ":" + port + "," + v4 + ":" + port,
	}
}

// refusedBytes sends raw bytes to the proxy and wants an error status or a closed connection, in time.
func refusedBytes(ctx context.Context, p *lab.Proxy, did, method string, raw []byte) {
	GinkgoHelper()
	within, cancel := context.WithTimeout(ctx, refuseWithin)
	defer cancel()
	answer, err := answerTo(within, p, method, raw)
	wants := []string{"a status of 400 or more", "the connection closed"}
	switch {
	case attack.HungUp(err):
	case err != nil:
		engine.Fail(did, wants, fmt.Sprintf("no answer within %v: %v", refuseWithin, err))
	case method == "CONNECT" && answer.Status/100 == 2:
		engine.Fail(did, wants, "a tunnel")
	case answer.Status < 400:
		engine.Fail(did, wants, answer.String())
	}
}

// answerTo sends raw bytes to the proxy on a connection of their own and reads one answer.
func answerTo(ctx context.Context, p *lab.Proxy, method string, raw []byte) (*lab.Response, error) {
	c, err := p.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Send(raw); err != nil {
		return nil, err
	}
	return c.Receive(method)
}

// connectBytes asks for a tunnel to a target, written as it stands.
func connectBytes(target string) []byte {
	return lab.Request{Method: "CONNECT", Target: target, Proto: "HTTP/1.1"}.Add("Host", targetName).Bytes()
}

// getBytes is a plain request for a target, written as it stands, with lines for its Host.
func getBytes(target string, hosts ...string) []byte {
	r := lab.Request{Method: "GET", Target: target, Proto: "HTTP/1.1"}
	r.Header = slices.Concat(hosts, []string{"Connection: close"})
	return r.Bytes()
}

// arrivedAt lists the listeners of the sites that got a request whose target holds a mark.
func arrivedAt(l *lab.Lab, mark string) []netip.AddrPort {
	var at []netip.AddrPort
	for _, r := range l.Sites.Requests() {
		if strings.Contains(r.Target, mark) {
			at = append(at, r.Listener)
		}
	}
	return at
}

// unreached wants no connection of the target to the public places that malformed authorities are made of.
func unreached(ctx context.Context, l *lab.Lab, s *lab.Sidecar, did string) {
	GinkgoHelper()
	for _, a := range []netip.Addr{l.Public(1), l.Public(3)} {
		attempts, err := s.AttemptsAt(ctx, a)
		Expect(err).NotTo(HaveOccurred(), "asking the lab's tap for connections to %s", a)
		if len(attempts) > 0 {
			engine.Fail(did, []string{"no packet at " + a.String()}, fmt.Sprintf("%d connections: %v", len(attempts), attempts))
		}
	}
}

func oneAuthority(l *lab.Lab) {
	// "… and a malformed authority is refused within 5 seconds."
	It("refuses a malformed authority and dials nothing", engine.Clause("egress.one-authority"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		engine.Harness(l.DNS.Set(targetName, dns.Answer(l.Public(1))))
		controlRaw(ctx, l, p)
		for _, authority := range malformed(l) {
			refusedBytes(ctx, p, fmt.Sprintf("asking the proxy for %q", "http://"+authority+"/"), "GET",
				getBytes("http://"+authority+"/", "Host: "+targetName))
			refusedBytes(ctx, p, fmt.Sprintf("CONNECT %q", authority), "CONNECT", connectBytes(authority))
		}
		for _, target := range malformedTargets(l) {
			refusedBytes(ctx, p, fmt.Sprintf("CONNECT %q", target), "CONNECT", connectBytes(target))
		}
		for _, target := range []string{
			"http:///", "http:///" + targetName + ":8080/", "http:////" + targetName + ":8080/", "http://?x", "http://", "http:",
			"http://#@10.0.0.5:8000/", "http://?@10.0.0.5:8000/", "http:\\\\10.0.0.5:8000/", "http:10.0.0.5:8000/", "http:/10.0.0.5:8000/",
		} {
			refusedBytes(ctx, p, fmt.Sprintf("asking the proxy for %q", target), "GET", getBytes(target, "Host: "+targetName))
		}
		for _, line := range []string{"CONNECT HTTP/1.1", "CONNECT", "GET HTTP/1.1", "GET"} {
			method, _, _ := strings.Cut(line, " ")
			refusedBytes(ctx, p, fmt.Sprintf("sending the request line %q", line), method, []byte(line+"\r\nHost: "+targetName+"\r\n\r\n"))
		}
		unreached(ctx, l, s, "sending malformed authorities to the proxy")
		controlRaw(ctx, l, p)
		reachesTarget(ctx, l, p)
		untouched(ctx, l, s, "sending malformed authorities to the proxy")
	})

	// "A Host header never replaces it …"
	It("goes by the request's target, whatever Host says", engine.Clause("egress.one-authority"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		to := netip.AddrPortFrom(l.Public(1), lab.SitePort)
		for i, hosts := range misleading(l, to) {
			mark := fmt.Sprintf("plain-%d.", i)
			path := "/status?code=200&mark=" + mark
			did := fmt.Sprintf("asking the proxy for http://%s%s with %q", to, path, hosts)
			answer, err := answerTo(ctx, p, "GET", getBytes("http://"+to.String()+path, hosts...))
			Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), did)
			onlyAt(l, did, mark, to)
			if i == 0 {
				Expect(answer).To(HaveField("Status", 200), "the control: "+did)
				Expect(arrivedAt(l, mark)).To(HaveLen(1), "the control: the request arrives after "+did)
			}
			did = fmt.Sprintf("CONNECT %s with %q", to, hosts)
			mark = fmt.Sprintf("tunnel-%d.", i)
			raw := "CONNECT " + to.String() + " HTTP/1.1\r\n" + strings.Join(hosts, "\r\n") + "\r\n\r\n"
			granted := through(ctx, p, did, raw, "/status?code=200&mark="+mark)
			Expect(granted || i > 0).To(BeTrue(), "the control: a tunnel by "+did)
			onlyAt(l, did, mark, to)
		}
		for _, private := range []string{"10.0.0.5:8000", "169.254.169.254:8000", "[::1]:8000", "127.0.0.1:8000", "127.0.0.1:8080", "10.0.0.5:8080"} {
			for _, host := range []string{to.String(), l.AppAddr().String(), targetName, "www." + lab.PublicName + ":8080"} {
				did := fmt.Sprintf("asking the proxy for http://%s/ with Host: %s", private, host)
				refusedBytes(ctx, p, did, "GET", getBytes("http://"+private+"/?mark=hidden", "Host: "+host))
				raw := lab.Request{Method: "CONNECT", Target: private, Proto: "HTTP/1.1"}.Add("Host", host).Bytes()
				refusedBytes(ctx, p, fmt.Sprintf("CONNECT %s with Host: %s", private, host), "CONNECT", raw)
			}
		}
		Expect(arrivedAt(l, "mark=hidden")).To(BeEmpty(), "where requests for private places with a public Host arrived")
		controlRaw(ctx, l, p)
		untouched(ctx, l, s, "sending requests whose Host is another than their target")
	})
}

// misleading are header lines that name another place than the one that a request is for. The first name the same: they are
// the control.
func misleading(l *lab.Lab, to netip.AddrPort) [][]string {
	own := "Host: " + to.String()
	rows := [][]string{{own}}
	for _, other := range []string{
		"10.0.0.5:8000", "127.0.0.1:8000", "169.254.169.254:8000", "[::1]:8000", "localhost:8000", l.AppAddr().String(),
		lab.Authority(to.Addr(), lab.RebindPort), lab.Authority(l.Public(2), lab.SitePort),
	} {
		rows = append(rows, []string{"Host: " + other}, []string{own, "Host: " + other}, []string{"Host: " + other, own},
			[]string{own, " " + other}, []string{own + "\rHost: " + other}, []string{own, "Host : " + other}, []string{own + "\x00" + other},
			[]string{own + "," + other}, []string{"Host: " + other + "@" + to.String()},
			[]string{own, "X-Forwarded-Host: " + other, "Forwarded: host=" + other, "X-Host: " + other, "X-Original-URL: http://" + other + "/"},
			[]string{own, "Connection: Host", "Proxy-Host: " + other})
	}
	return append(rows, []string{"Host:"}, []string{"Host: "}, []string{"Host: /"}, []string{"Host: [[::1]]:8000"})
}

// onlyAt wants a marked request to have arrived at one place, or nowhere.
func onlyAt(l *lab.Lab, did, mark string, to netip.AddrPort) {
	GinkgoHelper()
	for _, at := range arrivedAt(l, mark) {
		Expect(at).To(Equal(to), "where a request arrived after "+did)
	}
}

// through asks for a tunnel and, where it is granted, for a path through it.
func through(ctx context.Context, p *lab.Proxy, did, raw, path string) bool {
	GinkgoHelper()
	c, err := p.Dial(ctx)
	Expect(err).NotTo(HaveOccurred(), did)
	defer c.Close()
	Expect(c.Send([]byte(raw))).To(Or(Succeed(), MatchError(attack.HungUp, "hung up")), did)
	answer, err := c.Receive("CONNECT")
	Expect(err).To(Or(BeNil(), Satisfy(attack.HungUp)), did)
	if answer == nil || answer.Status/100 != 2 {
		return false
	}
	Expect(c.Send(getBytes(path, "Host: tunnel"))).To(Succeed(), "asking for %s by a tunnel, after %s", path, did)
	answer, err = c.Receive("GET")
	Expect(err).NotTo(HaveOccurred(), "asking for %s by a tunnel, after %s", path, did)
	Expect(answer.Status).To(Equal(200), "asking for %s by a tunnel, after %s", path, did)
	return true
}

// reachesTarget is the control of what malformed authorities are made of: spelled well, they are reached.
func reachesTarget(ctx context.Context, l *lab.Lab, p *lab.Proxy) {
	GinkgoHelper()
	for _, authority := range authorities([]string{targetName, l.Public(1).String(), "[" + l.Public(3).String() + "]"}, lab.SitePort) {
		answer, err := p.Do(ctx, plain(authority))
		Expect(err).NotTo(HaveOccurred(), "the control: asking the proxy for http://%s/", authority)
		Expect(answer.Status).To(Equal(200), "the control: asking the proxy for http://%s/", authority)
		tunnel, answer, err := p.Connect(ctx, authority, "/status?code=200")
		Expect(err).NotTo(HaveOccurred(), "the control: CONNECT %s", authority)
		Expect(tunnel).To(BeTrue(), "the control: CONNECT %s: %s", authority, answer)
	}
}

// places lists what a request's log says, for failures.
func places(requests []app.Request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, fmt.Sprintf("%s %s at %s", r.Method, r.Target, r.Listener))
	}
	return all
}
