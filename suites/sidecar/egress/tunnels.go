package egress

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func tunnels(l *lab.Lab) {
	// "… for plain HTTP, CONNECT and WebSocket."
	It("carries a WebSocket through a raw tunnel", engine.Clause("egress.public-works"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		client := clients(ctx, proxy(ctx, s))["tunnel"]
		place := "ws://" + lab.Authority(l.Public(1), lab.SitePort) + "/ws"
		socket, _, err := websocket.Dial(ctx, place, &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // the library says: never needed
		Expect(err).NotTo(HaveOccurred(), "opening a WebSocket through a tunnel")
		defer socket.CloseNow()
		socket.SetReadLimit(4 * mebibyte)
		for _, message := range [][]byte{[]byte("over"), []byte("and back"), noise(2 * mebibyte)} {
			Expect(socket.Write(ctx, websocket.MessageBinary, message)).To(Succeed(), "sending %d bytes over a WebSocket", len(message))
			_, got, err := socket.Read(ctx)
			Expect(err).NotTo(HaveOccurred(), "reading %d bytes from a WebSocket", len(message))
			Expect(digest(got)).To(Equal(digest(message)), "the SHA-256 of %d bytes that came back over a WebSocket", len(message))
		}
		Expect(socket.Close(websocket.StatusNormalClosure, "")).To(Succeed(), "closing a WebSocket")
	})

	// "What one side of a tunnel sends before it ends its direction arrives, and a client that has ended its own still gets the
	// answer."
	It("brings what was sent before one side of a tunnel ends", engine.Clause("egress.public-works"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		body := noise(4 * mebibyte)
		var open atomic.Int32
		raw := func(talk func(conn net.Conn, in io.Reader)) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, buffered, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return
				}
				open.Add(1)
				defer open.Add(-1)
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(pieceWithin))
				talk(conn, buffered)
			})
		}
		engine.Harness(l.Sites.Handle("", "/listens", raw(func(conn net.Conn, in io.Reader) {
			sum := sha256.New()
			if _, err := io.Copy(sum, in); err == nil {
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n%x", sum.Sum(nil))
			}
		})))
		engine.Harness(l.Sites.Handle("", "/tells", raw(func(conn net.Conn, _ io.Reader) { _, _ = conn.Write(body) })))

		c, err := p.Tunnel(ctx, lab.Authority(l.Public(1), lab.SitePort))
		Expect(err).NotTo(HaveOccurred(), "asking for a tunnel")
		defer c.Close()
		Expect(c.Send(getBytes("/listens", "Host: x"))).To(Succeed(), "asking a site to listen")
		Expect(c.Send(body)).To(Succeed(), "sending 4 MiB through a tunnel")
		Expect(c.CloseWrite()).To(Succeed(), "ending the client's direction of a tunnel")
		answer, err := c.Receive("GET")
		Expect(err).NotTo(HaveOccurred(), "reading the answer once the client has ended its direction")
		Expect(string(answer.Body)).To(Equal(digest(body)), "the SHA-256 of 4 MiB that a site got before the end of the client's direction")

		other, err := p.Tunnel(ctx, lab.Authority(l.Public(1), lab.SitePort))
		Expect(err).NotTo(HaveOccurred(), "asking for a tunnel")
		defer other.Close()
		Expect(other.Send(getBytes("/tells", "Host: x"))).To(Succeed(), "asking a site to tell 4 MiB and close")
		got, err := io.ReadAll(other)
		Expect(err).NotTo(HaveOccurred(), "reading through a tunnel to its end")
		Expect(digest(got)).To(Equal(digest(body)), "the SHA-256 of the %d bytes that a site sent before it closed", len(got))
		Eventually(ctx, open.Load).WithTimeout(5*time.Second).Should(BeZero(), "the site's connections that are still open")
	})

	// "A request that expects 100 (Continue) gets it before its body."
	It("lets a client wait for 100 (Continue)", engine.Clause("egress.public-works"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		authority := lab.Authority(l.Public(1), lab.SitePort)
		for kind, dial := range map[string]func() (*lab.Conn, error){
			"http://" + authority: func() (*lab.Conn, error) { return p.Dial(ctx) },
			"":                    func() (*lab.Conn, error) { return p.Tunnel(ctx, authority) },
		} {
			did := fmt.Sprintf("sending POST %s/echo with Expect: 100-continue", kind)
			c, err := dial()
			Expect(err).NotTo(HaveOccurred(), did)
			defer c.Close()
			Expect(c.Send([]byte("POST "+kind+"/echo HTTP/1.1\r\nHost: "+authority+"\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"))).To(Succeed(), did)
			answer, err := c.Receive("POST")
			Expect(err).NotTo(HaveOccurred(), did)
			Expect(answer.Status).To(Equal(100), "the first answer, before the body, after "+did)
			Expect(c.Send([]byte("body"))).To(Succeed(), did)
			for answer.Status == 100 {
				answer, err = c.Receive("POST")
				Expect(err).NotTo(HaveOccurred(), "reading the answer after "+did)
			}
			Expect(answer.Status).To(Equal(200), "the answer after "+did)
			Expect(string(answer.Body)).To(ContainSubstring(`"body":"body"`), "what the site got after "+did)
		}
	})
}
