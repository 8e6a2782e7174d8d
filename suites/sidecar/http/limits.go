package http

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

const (
	mebibyte = 1 << 20
	// overLimit is larger than any legitimate call: the contract's highest limit is 16 MiB.
	overLimit = 20 * mebibyte
	// flood is sent to a sidecar that must not hold it, and held is by how much its memory may grow meanwhile.
	flood, held = 128 * mebibyte, 64 * mebibyte
)

// long is a well-formed message behind so many blanks that it has the given size: but for its length it is answered 200.
func long(size int) []byte {
	message := lab.InitializeBody(1)
	return append(bytes.Repeat([]byte(" "), size-len(message)), message...)
}

// chunked frames a body in pieces of a mebibyte (RFC 9112 §7.1).
func chunked(body []byte) []byte {
	var b bytes.Buffer
	for piece := range slices.Chunk(body, mebibyte) {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(piece), piece)
	}
	b.WriteString("0\r\n\r\n")
	return b.Bytes()
}

// quick is how long a request may take beside one that hurts: no client waits for another.
const quick = 5 * time.Second

// aliveWithin wants the sidecar to answer another client in time.
func aliveWithin(ctx context.Context, s *lab.Sidecar, within time.Duration) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	attack.Alive(ctx, s)
}

// oversized are requests whose body is too long, by both ways to frame it.
func oversized(s *lab.Sidecar, size int) map[string]lab.Request {
	plain := s.Post("/mcp", nil).Set("Content-Length", strconv.Itoa(size))
	plain.Body = long(size)
	pieces := s.Post("/mcp", nil).Without("Content-Length").Add("Transfer-Encoding", "chunked")
	pieces.Body = chunked(long(size))
	return map[string]lab.Request{"with a Content-Length": plain, "chunked": pieces}
}

// refused wants an answer that refuses.
func refused(answer *lab.Response, did string) {
	GinkgoHelper()
	if answer.Status/100 != 4 {
		engine.Fail(did, []string{"a status from 400 to 499"}, answer.String())
	}
}

func limits(l *lab.Lab) {
	// "A request body over the sidecar's limit, sent with a Content-Length or chunked, is refused without being held in
	// memory, and the sidecar answers other requests meanwhile and afterwards."
	It("refuses a body over its limit without holding it", engine.Clause("http.body-limit"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			// One of its own: what another spec made it hold would hide what this one does.
			s := attack.Start(ctx, l, nil)
			for did, r := range oversized(s, 64<<10) {
				attack.Accepted(ctx, s, "the control, a body of 64 KiB "+did, r)
			}
			for did, r := range oversized(s, flood) {
				before, err := s.PeakMemory()
				engine.Harness(err)
				c, err := s.Dial(ctx)
				Expect(err).NotTo(HaveOccurred(), "opening a connection")
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					_ = c.Send(r.Bytes()) // a sidecar that has seen enough closes while the rest is written
				}()
				aliveWithin(ctx, s, quick)
				answer, err := c.Receive(r.Method)
				Expect(c.Close()).To(Succeed())
				<-sent
				if !attack.HungUp(err) {
					Expect(err).NotTo(HaveOccurred(), "posting %d MiB %s", flood/mebibyte, did)
					refused(answer, fmt.Sprintf("posting %d MiB %s", flood/mebibyte, did))
				}
				after, err := s.PeakMemory()
				engine.Harness(err)
				Expect(after-before).To(BeNumerically("<", held), "bytes by which the memory grew when %d MiB were posted %s", flood/mebibyte, did)
			}
			attack.Alive(ctx, s)
		})

	// "The refusal of an over-long body reaches also a client that reads only after it has written everything: a whole answer
	// with a status from 400 to 499, and then the close."
	It("lets a client read the refusal that reads last", engine.Clause("http.limit-readable"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for did, r := range oversized(s, overLimit) {
			c, err := s.Dial(ctx)
			Expect(err).NotTo(HaveOccurred(), "opening a connection")
			Expect(c.Send(r.Bytes())).To(Succeed(), "posting %d MiB %s", overLimit/mebibyte, did)
			answer, err := c.Receive(r.Method)
			Expect(err).NotTo(HaveOccurred(), "reading the answer after posting %d MiB %s", overLimit/mebibyte, did)
			refused(answer, fmt.Sprintf("posting %d MiB %s", overLimit/mebibyte, did))
			silent, closed, err := c.Silent(10 * time.Second)
			engine.Harness(err)
			Expect(silent).To(BeTrue(), "nothing comes after the answer to %d MiB %s", overLimit/mebibyte, did)
			Expect(closed).To(BeTrue(), "the connection is closed after the answer to %d MiB %s", overLimit/mebibyte, did)
			Expect(c.Close()).To(Succeed())
		}
		attack.Alive(ctx, s)
	})

	// "A client that sends one byte a second, in its headers or in its body, delays no other client and is cut off within 60
	// seconds."
	DescribeTable("cuts off a client that sends a byte a second", engine.Clause("http.slow-client"),
		func(ctx SpecContext, prefix func(s *lab.Sidecar) string) {
			s := attack.Sidecar(ctx, l)
			c, err := s.Dial(ctx)
			Expect(err).NotTo(HaveOccurred(), "opening a connection")
			defer c.Close()
			start := time.Now()
			Expect(c.Send([]byte(prefix(s)))).To(Succeed(), "sending the beginning of a request")
			Eventually(ctx, func() bool {
				aliveWithin(ctx, s, quick)
				_ = c.Send([]byte("a")) // a reset shows below
				closed, err := c.Closed(100 * time.Millisecond)
				engine.Harness(err)
				return closed
			}).WithTimeout(65*time.Second).WithPolling(time.Second).Should(BeTrue(), "the slow client is cut off")
			Expect(time.Since(start)).To(BeNumerically("<", 61*time.Second), "the time until the slow client was cut off")
			attack.Alive(ctx, s)
		},
		Entry("in its headers", SpecTimeout(90*time.Second), func(s *lab.Sidecar) string {
			return "GET /health HTTP/1.1\r\nHost: " + s.Addr + "\r\nAuthorization: Bearer " + s.Token() + "\r\nX-Slow: "
		}),
		Entry("in its body", SpecTimeout(90*time.Second), func(s *lab.Sidecar) string {
			r := s.Post("/mcp", nil).Set("Content-Length", "100000")
			return string(r.Bytes())
		}),
	)
}
