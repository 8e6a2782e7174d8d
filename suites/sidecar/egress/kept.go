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

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// keeping is a plain request that keeps its connection.
func keeping(authority, path string) []byte {
	return lab.Request{Method: "GET", Target: "http://" + authority + path, Proto: "HTTP/1.1"}.Add("Host", authority).Bytes()
}

// second sends a request on a connection that has served another, once its answer is read or right behind it, and returns
// its answer; nil where the proxy closes the connection instead.
func second(ctx context.Context, p *lab.Proxy, did, method string, first, raw []byte, pipelined bool) *lab.Response {
	GinkgoHelper()
	within, cancel := context.WithTimeout(ctx, refuseWithin)
	defer cancel()
	c, err := p.Dial(within)
	Expect(err).NotTo(HaveOccurred(), did)
	defer c.Close()
	if pipelined {
		first = slices.Concat(first, raw)
	}
	Expect(c.Send(first)).To(Succeed(), did)
	answer, err := c.Receive("GET")
	Expect(err).NotTo(HaveOccurred(), "the control: the first of two requests, "+did)
	Expect(answer.Status).To(Equal(200), "the control: the first of two requests, "+did)
	if !pipelined {
		err = c.Send(raw)
	}
	if err == nil {
		answer, err = c.Receive(method)
	}
	if attack.HungUp(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred(), did)
	return answer
}

func keptConnections(l *lab.Lab) {
	// "Each request on a connection is judged by itself …"
	It("judges each request on a kept connection by itself", engine.Clause("egress.one-authority"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		public := lab.Authority(l.Public(1), lab.SitePort)
		for i, first := range []string{public, l.AppAddr().String()} {
			for _, pipelined := range []bool{false, true} {
				before := keeping(first, "/status?code=200")
				for _, private := range []string{"10.0.0.5:8000", "127.0.0.1:8000", "169.254.169.254:8080", "[::1]:8000", "localhost:3000"} {
					for _, raw := range [][]byte{
						getBytes("http://"+private+"/", "Host: "+private), getBytes("/", "Host: "+private),
						lab.Request{Method: "CONNECT", Target: private, Proto: "HTTP/1.1"}.Add("Host", private).Bytes(),
					} {
						method, _, _ := strings.Cut(string(raw), " ")
						did := fmt.Sprintf("asking for %q on a connection that has asked for %s (pipelined: %v)", cutLine(raw), first, pipelined)
						if answer := second(ctx, p, did, method, before, raw, pipelined); answer != nil && answer.Status < 400 {
							engine.Fail(did, []string{"a status of 400 or more", "the connection closed"}, answer.String())
						}
					}
				}
				// Another public place, and another port of the same: where a kept connection to the first one must not serve.
				for j, to := range []netip.AddrPort{
					netip.AddrPortFrom(l.Public(2), lab.SitePort), netip.AddrPortFrom(l.Public(1), lab.RebindPort), netip.AddrPortFrom(l.Public(1), lab.SitePort),
				} {
					mark := fmt.Sprintf("kept-%d-%v-%d.", i, pipelined, j)
					did := fmt.Sprintf("asking for http://%s/ on a connection that has asked for %s (pipelined: %v)", to, first, pipelined)
					second(ctx, p, did, "GET", before, getBytes("http://"+to.String()+"/status?code=200&"+mark, "Host: "+first), pipelined)
					onlyAt(l, did, mark, to)
				}
			}
		}
		controlRaw(ctx, l, p)
		untouched(ctx, l, s, "asking for private places on connections that have asked for others")
	})

	// "… and none hides in another's body."
	It("carries out no request that hides in a body", engine.Clause("egress.one-authority"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		to := lab.Authority(l.Public(1), lab.SitePort)
		for i, hidden := range []string{
			"GET http://" + to + "/hidden HTTP/1.1\r\nHost: " + to + "\r\n\r\n",
			"GET /hidden HTTP/1.1\r\nHost: " + to + "\r\n\r\n",
			"GET http://10.0.0.5:8000/hidden HTTP/1.1\r\nHost: 10.0.0.5:8000\r\n\r\n",
		} {
			for _, place := range []string{to, l.AppAddr().String()} {
				for _, body := range hiding(hidden) {
					raw := "POST http://" + place + "/echo HTTP/1.1\r\nHost: " + place + "\r\n" + body
					within, cancel := context.WithTimeout(ctx, refuseWithin)
					c, err := p.Dial(within)
					Expect(err).NotTo(HaveOccurred(), "connecting to the proxy")
					Expect(c.Send([]byte(raw))).To(Or(Succeed(), MatchError(attack.HungUp, "hung up")), "sending %q", raw)
					_ = c.CloseWrite() // what the proxy still waits for doesn't come
					_, err = c.Closed(refuseWithin)
					Expect(err).NotTo(HaveOccurred(), "reading the answers to %q", raw)
					_ = c.Close()
					cancel()
					if got := l.Sites.RequestsTo("", "/hidden"); len(got) > 0 {
						engine.Fail(fmt.Sprintf("sending %q to the proxy", raw), []string{"no request for /hidden at any site"},
							strings.Join(places(got), ", "))
					}
				}
			}
			// The control: the same text behind a body that is framed well is a request of its own, or at least no fault.
			if i == 0 {
				first := fmt.Appendf(nil, "GET http://%s/status?code=200 HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
				second(ctx, p, "the control: a second request in the open", "GET", first, []byte(strings.Replace(hidden, "/hidden", "/cors", 1)), false)
			}
		}
		controlRaw(ctx, l, p)
		untouched(ctx, l, s, "hiding requests in bodies")
	})
}

// hiding are the ends of a request's head, each with a body that two readers could end at different places, the hidden
// request behind one of them.
func hiding(hidden string) []string {
	length := fmt.Sprintf("Content-Length: %d\r\n", len("0\r\n\r\n"+hidden))
	whole := fmt.Sprintf("Content-Length: %d\r\n", len(hidden))
	return []string{
		length + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n" + length + "\r\n0\r\n\r\n" + hidden,
		length + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
		length + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden,
		length + "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + hidden,
		length + "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + hidden,
		length + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		length + "X: x\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"Content-Length: 0\r\n" + whole + "\r\n" + hidden,
		length + "Content-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"Content-Length: 0, 5\r\n\r\n" + hidden,
		"Content-Length: +0\r\n\r\n" + hidden,
		"Content-Length: -1\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n0\n\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n1;a=\rb\nx\r\n0\r\n\r\n" + hidden,
		"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n" + hidden,
		"Connection: Content-Length\r\n" + whole + "\r\n" + hidden,
	}
}

// cutLine is the first line of a request.
func cutLine(raw []byte) string {
	line, _, _ := strings.Cut(string(raw), "\r\n")
	return line
}
