package http

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// framed is a request's framing and the bytes behind its head. Each carries a message that is answered with 200 where its
// length is read leniently, so that a refusal is one of the framing and of nothing else.
type framed struct {
	headers []string
	body    string
}

// message is what every request carries.
func message() string { return string(lab.InitializeBody(1)) }

// sized frames the message by header lines, in which LEN stands for its length.
func sized(headers ...string) framed {
	f := framed{body: message()}
	for _, h := range headers {
		f.headers = append(f.headers, strings.ReplaceAll(h, "LEN", fmt.Sprint(len(f.body))))
	}
	return f
}

// inChunks frames the message as one chunk behind the given size line, in which LEN stands for its length in hexadecimal.
func inChunks(size string, headers ...string) framed {
	size = strings.ReplaceAll(size, "LEN", fmt.Sprintf("%x", len(message())))
	return framed{append([]string{"Transfer-Encoding: chunked"}, headers...), size + message() + "\r\n0\r\n\r\n"}
}

// request posts the message in a framing.
func (f framed) request(s *lab.Sidecar) lab.Request {
	r := s.Post("/mcp", []byte(f.body)).Without("Content-Length")
	r.Header = append(r.Header, f.headers...)
	return r
}

func smuggling(l *lab.Lab) {
	// "A request whose length is ambiguous or broken is refused and its connection closed, and nothing that follows it is
	// answered: Content-Length with Transfer-Encoding, two Content-Lengths, a Content-Length that is no number, a chunk whose
	// size is malformed or whose end is missing."
	DescribeTable("refuses a request whose length is ambiguous or broken", engine.Clause("http.smuggling"),
		func(ctx SpecContext, f framed) {
			s := attack.Sidecar(ctx, l)
			attack.Accepted(ctx, s, "the control, with an honest length", sized("Content-Length: LEN").request(s))
			attack.Accepted(ctx, s, "the control, in an honest chunk", inChunks("LEN\r\n").request(s))
			c, err := s.Dial(ctx)
			Expect(err).NotTo(HaveOccurred(), "opening a connection")
			defer c.Close()
			// What is hidden behind the request is an admitted one: an answer to it is seen.
			hidden := s.Get("/health").Bytes()
			// A sidecar that has seen enough may close while the rest is written.
			Expect(c.Send(append(f.request(s).Bytes(), hidden...))).To(Or(Succeed(), MatchError(attack.HungUp, "hung up")), "sending it")
			answer, err := c.Receive("POST")
			if attack.HungUp(err) {
				attack.Alive(ctx, s)
				return
			}
			Expect(err).NotTo(HaveOccurred(), "reading the answer")
			// 501 is what RFC 9112 §6.1 asks for where the coding is unknown.
			if answer.Status/100 != 4 && answer.Status != 501 {
				engine.Fail("POST /mcp with "+CurrentSpecReport().LeafNodeText, []string{"a status from 400 to 499", "status 501", "the connection closed"},
					answer.String())
			}
			silent, closed, err := c.Silent(10 * time.Second)
			engine.Harness(err)
			Expect(silent).To(BeTrue(), "nothing behind the refused request is answered")
			Expect(closed).To(BeTrue(), "the connection is closed after the refusal")
			attack.Alive(ctx, s)
		},
		Entry("Content-Length behind Transfer-Encoding", inChunks("LEN\r\n", "Content-Length: 4")),
		Entry("a Content-Length of 0 behind Transfer-Encoding", inChunks("LEN\r\n", "Content-Length: 0")),
		Entry("Content-Length before Transfer-Encoding, in other case", framed{
			[]string{"content-LENGTH: 4", "transfer-ENCODING: Chunked"}, inChunks("LEN\r\n").body,
		}),
		Entry("two Content-Lengths, the right one first", sized("Content-Length: LEN", "Content-Length: 0")),
		Entry("two Content-Lengths, the right one last", sized("Content-Length: 0", "Content-Length: LEN")),
		Entry("two numbers in one Content-Length", sized("Content-Length: LEN, 0")),
		Entry("a Content-Length with a sign", sized("Content-Length: +LEN")),
		Entry("a Content-Length with a blank inside", sized("Content-Length: 0 LEN")),
		Entry("a negative Content-Length", sized("Content-Length: -1")),
		Entry("a Content-Length with 0x", sized("Content-Length: 0xLEN")),
		Entry("a Content-Length with a fraction", sized("Content-Length: LEN.0")),
		Entry("a Content-Length that is a word", sized("Content-Length: forty")),
		Entry("an empty Content-Length", sized("Content-Length: ")),
		Entry("a Content-Length beyond 64 bits", sized("Content-Length: 18446744073709551616LEN")),
		Entry("an unknown Transfer-Encoding", framed{[]string{"Transfer-Encoding: xchunked"}, inChunks("LEN\r\n").body}),
		Entry("a doubled Transfer-Encoding", inChunks("LEN\r\n", "Transfer-Encoding: identity")),
		Entry("Transfer-Encoding with a vertical tab", framed{[]string{"Transfer-Encoding: \x0bchunked"}, inChunks("LEN\r\n").body}),
		Entry("a blank before the colon of Transfer-Encoding", framed{[]string{"Transfer-Encoding : chunked"}, inChunks("LEN\r\n").body}),
		Entry("a chunk size with a sign", inChunks("+LEN\r\n")),
		Entry("a chunk size with 0x", inChunks("0xLEN\r\n")),
		Entry("a chunk size that is no number", inChunks("zz\r\n")),
		Entry("a chunk size beyond 64 bits", inChunks("1000000000000000LEN\r\n")),
		Entry("a chunk size ended by a bare line feed", inChunks("LEN\n")),
		Entry("a carriage return in a chunk extension", inChunks("LEN;a\rb\r\n")),
		Entry("a bare line feed in a chunk extension", inChunks("LEN;a\nb\r\n")),
		Entry("a blank before a chunk size", inChunks(" LEN\r\n")),
		Entry("a chunk size with an underscore", inChunks("0_LEN\r\n")),
		Entry("an empty chunk size", inChunks("\r\n")),
		Entry("a chunk whose end is a bare line feed", framed{
			[]string{"Transfer-Encoding: chunked"}, fmt.Sprintf("%x\r\n%s\n0\r\n\r\n", len(message()), message()),
		}),
		Entry("a chunk that is longer than its size", inChunks("4\r\n")),
		Entry("a chunk without its end", framed{
			[]string{"Transfer-Encoding: chunked"}, fmt.Sprintf("%x\r\n%s0\r\n\r\n", len(message()), message()),
		}),
		Entry("a chunk size of a mebibyte of zeros", inChunks(strings.Repeat("0", 1<<20)+"LEN\r\n")),
	)
}
