package http

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func smuggling(l *lab.Lab) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	// "A request whose length is ambiguous or broken is refused and its connection closed, and nothing that follows it is
	// answered: Content-Length with Transfer-Encoding, two Content-Lengths, a Content-Length that is no number, a chunk whose
	// size is malformed or whose end is missing."
	DescribeTable("refuses a request whose length is ambiguous or broken", engine.Clause("http.smuggling"),
		func(ctx SpecContext, headers []string, body string) {
			s := attack.Sidecar(ctx, l)
			attack.Connect(ctx, s) // the control: the same path with an honest length is answered
			r := s.Post("/mcp", []byte(body)).Without("Content-Length")
			r.Header = append(r.Header, headers...)
			c, err := s.Dial(ctx)
			Expect(err).NotTo(HaveOccurred())
			defer c.Close()
			// What is hidden behind the request is an admitted one: an answer to it is seen.
			hidden := s.Get("/health").Bytes()
			Expect(c.Send(append(r.Bytes(), hidden...))).To(Succeed())
			answer, err := c.Receive("POST")
			if attack.HungUp(err) {
				attack.Alive(ctx, s)
				return
			}
			Expect(err).NotTo(HaveOccurred(), "reading the answer")
			// 501 is what RFC 9112 §6.1 asks for where the coding is unknown.
			Expect(answer.Status).To(Or(BeNumerically("~", 450, 50), Equal(501)), "the answer to the request: %s", answer)
			silent, closed, err := c.Silent(5 * time.Second)
			Expect(err).NotTo(HaveOccurred())
			Expect(silent).To(BeTrue(), "nothing behind the refused request is answered")
			Expect(closed).To(BeTrue(), "the connection is closed after the refusal")
			attack.Alive(ctx, s)
		},
		Entry("Content-Length with Transfer-Encoding", []string{"Content-Length: 4", "Transfer-Encoding: chunked"}, "0\r\n\r\n"),
		Entry("Transfer-Encoding with Content-Length", []string{"Transfer-Encoding: chunked", "Content-Length: 0"}, "0\r\n\r\n"),
		Entry("Content-Length with Transfer-Encoding in other case", []string{"content-LENGTH: 4", "transfer-ENCODING: Chunked"}, "0\r\n\r\n"),
		Entry("two Content-Lengths", []string{"Content-Length: 40", "Content-Length: 0"}, ping),
		Entry("two Content-Lengths, the short one first", []string{"Content-Length: 0", "Content-Length: 40"}, ping),
		Entry("two numbers in one Content-Length", []string{"Content-Length: 40, 0"}, ping),
		Entry("a Content-Length with a sign", []string{"Content-Length: +40"}, ping),
		Entry("a negative Content-Length", []string{"Content-Length: -1"}, ""),
		Entry("a hexadecimal Content-Length", []string{"Content-Length: 0x28"}, ping),
		Entry("a Content-Length that is a word", []string{"Content-Length: forty"}, ping),
		Entry("an empty Content-Length", []string{"Content-Length: "}, ping),
		Entry("a Content-Length beyond 64 bits", []string{"Content-Length: 18446744073709551656"}, ping),
		Entry("an unknown Transfer-Encoding", []string{"Transfer-Encoding: xchunked"}, "0\r\n\r\n"),
		Entry("a doubled Transfer-Encoding", []string{"Transfer-Encoding: chunked", "Transfer-Encoding: identity"}, "0\r\n\r\n"),
		Entry("Transfer-Encoding with a vertical tab", []string{"Transfer-Encoding: \x0bchunked"}, "0\r\n\r\n"),
		Entry("a blank before the colon of Transfer-Encoding", []string{"Transfer-Encoding : chunked"}, "0\r\n\r\n"),
		Entry("a chunk size with a sign", []string{"Transfer-Encoding: chunked"}, "+28\r\n"+ping+"\r\n0\r\n\r\n"),
		Entry("a chunk size with 0x", []string{"Transfer-Encoding: chunked"}, "0x28\r\n"+ping+"\r\n0\r\n\r\n"),
		Entry("a chunk size that is no number", []string{"Transfer-Encoding: chunked"}, "zz\r\n"+ping+"\r\n0\r\n\r\n"),
		Entry("a chunk size beyond 64 bits", []string{"Transfer-Encoding: chunked"}, "10000000000000000\r\n"+ping+"\r\n0\r\n\r\n"),
		Entry("a chunk size ended by a bare line feed", []string{"Transfer-Encoding: chunked"}, "28\n"+ping+"\r\n0\r\n\r\n"),
		Entry("a carriage return in a chunk extension", []string{"Transfer-Encoding: chunked"}, "28;a\rb\r\n"+ping+"\r\n0\r\n\r\n"),
		Entry("a chunk that is longer than its size", []string{"Transfer-Encoding: chunked"}, "4\r\n"+ping+"\r\n0\r\n\r\n"),
		Entry("a chunk without its end", []string{"Transfer-Encoding: chunked"}, "28\r\n"+ping+"0\r\n\r\n"),
		Entry("a chunk size of a mebibyte of zeros", []string{"Transfer-Encoding: chunked"},
			strings.Repeat("0", 1<<20)+"28\r\n"+ping+"\r\n0\r\n\r\n"),
	)
}
