package egress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	sites "github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// pieces are what a stream consists of, and pieceWithin bounds the way of one of them.
const (
	pieces      = 5
	pieceWithin = 10 * time.Second
)

// A hold is a stream whose next piece comes only once the one before it has been seen at the other end: a proxy that
// collects pieces never sees the second.
type hold struct{ seen chan int }

// holdAt serves a held stream at a path of every site, and takes the news of what has been seen at path/seen?n=.
func holdAt(l *lab.Lab, path, contentType, piece string) *hold {
	GinkgoHelper()
	h := &hold{seen: make(chan int, pieces)}
	engine.Harness(l.Sites.Handle("", path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", contentType)
		for i := 1; i <= pieces; i++ {
			_, err := fmt.Fprintf(w, piece, i)
			if err == nil {
				err = http.NewResponseController(w).Flush()
			}
			if err != nil || !h.wait(r.Context(), i) {
				return
			}
		}
	})))
	engine.Harness(l.Sites.Handle("", path+"/seen", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if n, err := strconv.Atoi(r.URL.Query().Get("n")); err == nil {
			h.saw(n)
		}
	})))
	return h
}

// saw says that the nth piece has come.
func (h *hold) saw(n int) {
	select {
	case h.seen <- n:
	default: // said more often than there are pieces
	}
}

// wait is true once the nth piece has come.
func (h *hold) wait(ctx context.Context, n int) bool {
	ctx, cancel := context.WithTimeout(ctx, pieceWithin)
	defer cancel()
	for {
		select {
		case got := <-h.seen:
			if got >= n {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// clients are Go's own client behind the proxy: by plain requests, and by a tunnel for each connection.
func clients(ctx context.Context, p *lab.Proxy) map[string]*http.Client {
	plainly := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr}),
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return p.Dial(ctx) },
		DisableCompression: true,
	}
	tunnel := &http.Transport{
		DialContext:        func(_ context.Context, _, addr string) (net.Conn, error) { return p.Tunnel(ctx, addr) },
		DisableCompression: true,
	}
	DeferCleanup(plainly.CloseIdleConnections)
	DeferCleanup(tunnel.CloseIdleConnections)
	return map[string]*http.Client{"plain": {Transport: plainly}, "tunnel": {Transport: tunnel}}
}

// noise is so many bytes that no coding makes shorter.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(b) // it never fails
	return b
}

func streams(l *lab.Lab) {
	// "… and a streamed body arrives as it is sent, in either direction."
	It("brings a page each piece of a stream before the next is sent", engine.Clause("egress.public-works"), SpecTimeout(90*time.Second),
		func(ctx SpecContext) {
			s := attack.Sidecar(ctx, l)
			session := attack.Connect(ctx, s)
			Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
			for i, base := range []string{l.PublicURL(0, ""), l.SecureURL("stream."+lab.PublicName, "")} {
				for _, stream := range []struct{ kind, contentType, piece, read string }{
					{"a fetched body", "text/plain", "%d\n", `(async () => {
						const text = new TextDecoder(), reader = (await fetch(held)).body.getReader();
						for (let all = '';;) { const {done, value} = await reader.read(); if (done) return;
							all += text.decode(value, {stream: true}); saw(all.split('\n').length - 1) } })()`},
					{"an EventSource", "text/event-stream", "data: %d\n\n", `new Promise((resolve, reject) => {
						const events = new EventSource(held);
						events.onmessage = e => { saw(+e.data); if (+e.data === last) { events.close(); resolve() } };
						events.onerror = () => { events.close(); reject(new Error('no more events')) } })`},
				} {
					path := fmt.Sprintf("/held-%d-%s", i, stream.contentType[len("text/"):])
					holdAt(l, path, stream.contentType, stream.piece)
					start := fmt.Sprintf(`() => { const held = %q, last = %d; window.got = 0; window.done = false; window.fault = '';
						const saw = n => { window.got = n; fetch(held + '/seen?n=' + n, {mode: 'no-cors', cache: 'no-store'}) };
						%s.catch(f => { window.fault = String(f) }).then(() => { window.done = true }); return true }`, base+path, pieces, stream.read)
					var started bool
					Expect(session.Evaluate(ctx, start, &started)).To(Succeed(), "reading %s from %s in a page", stream.kind, base)
					attack.Done(ctx, session, 2*pieceWithin)
					var end struct {
						Got   int    `json:"got"`
						Fault string `json:"fault"`
					}
					Expect(session.Evaluate(ctx, "() => ({got: window.got, fault: window.fault})", &end)).To(Succeed(), "reading what came")
					Expect(end.Fault).To(BeEmpty(), "what the page says of %s from %s", stream.kind, base)
					Expect(end.Got).To(Equal(pieces), "the pieces of %s that came from %s, each before the next was sent", stream.kind, base)
				}
			}
		})

	It("carries each piece of a raw stream before the next is sent", engine.Clause("egress.public-works"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		heard := make(chan string, pieces)
		engine.Harness(l.Sites.Handle("", "/hear", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			piece := make([]byte, len("piece 1"))
			for {
				if _, err := io.ReadFull(r.Body, piece); err != nil {
					return
				}
				heard <- string(piece)
			}
		})))
		for kind, client := range clients(ctx, p) {
			path := "/held-" + kind
			h := holdAt(l, path, "text/plain", "%d\n")
			ask, err := http.NewRequestWithContext(ctx, http.MethodGet, l.PublicURL(1, path), nil)
			engine.Harness(err)
			answer, err := client.Do(ask)
			Expect(err).NotTo(HaveOccurred(), "asking for a stream (%s)", kind)
			for i := 1; i <= pieces; i++ {
				piece := make([]byte, 2)
				_, err := io.ReadFull(answer.Body, piece)
				Expect(err).NotTo(HaveOccurred(), "reading piece %d of a stream (%s), whose next one waits for it", i, kind)
				Expect(string(piece)).To(Equal(fmt.Sprintf("%d\n", i)), "piece %d of a stream (%s)", i, kind)
				h.saw(i)
			}
			Expect(io.ReadAll(answer.Body)).To(BeEmpty(), "what follows the last piece of a stream (%s)", kind)
			engine.Harness(answer.Body.Close())

			upload(ctx, client, kind, l.PublicURL(1, "/hear"), heard)
		}
	})

	// "A body of 50 MiB arrives whole, … in either direction."
	It("takes a body of 50 MiB whole", engine.Clause("egress.public-works"), SpecTimeout(90*time.Second), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		p := proxy(ctx, s)
		engine.Harness(l.Sites.Handle("", "/digest", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			sum := sha256.New()
			if _, err := io.Copy(sum, r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			_, _ = io.WriteString(w, hex.EncodeToString(sum.Sum(nil)))
		})))
		const size, seed = 50 * mebibyte, 8
		body := noise(size)
		for kind, client := range clients(ctx, p) {
			ask, err := http.NewRequestWithContext(ctx, http.MethodPost, l.PublicURL(1, "/digest"), bytes.NewReader(body))
			engine.Harness(err)
			answer, err := client.Do(ask)
			Expect(err).NotTo(HaveOccurred(), "sending 50 MiB (%s)", kind)
			got, err := io.ReadAll(answer.Body)
			Expect(err).NotTo(HaveOccurred(), "reading the answer to 50 MiB (%s)", kind)
			engine.Harness(answer.Body.Close())
			Expect(string(got)).To(Equal(digest(body)), "the SHA-256 of 50 MiB that a site got (%s)", kind)
		}
		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		script := fmt.Sprintf(`() => { window.done = false; fetch(%q).then(r => r.blob()).then(b => fetch(%q, {method: 'POST', body: b.slice(0, b.size, 'text/plain')}))
			.then(r => r.text()).then(t => { window.sha = t }).catch(f => { window.sha = String(f) }).then(() => { window.done = true }); return true }`,
			l.PublicURL(0, fmt.Sprintf("/bytes?n=%d&seed=%d", size, seed)), l.SecureURL("upload."+lab.PublicName, "/digest"))
		var started bool
		Expect(session.Evaluate(ctx, script, &started)).To(Succeed(), "fetching 50 MiB in a page and sending them on")
		attack.Done(ctx, session, 40*time.Second)
		var got string
		Expect(session.Evaluate(ctx, "() => window.sha", &got)).To(Succeed(), "reading what the site got")
		Expect(got).To(Equal(sites.BytesSHA256(size, seed)), "the SHA-256 of 50 MiB that a site got from a page")
	})
}

// upload sends a body in chunks, each once the one before has been heard at the site.
func upload(ctx context.Context, client *http.Client, kind, to string, heard <-chan string) {
	GinkgoHelper()
	reader, writer := io.Pipe()
	defer reader.Close()
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, to, reader)
	engine.Harness(err)
	answered := make(chan error, 1)
	go func() {
		answer, err := client.Do(ask)
		if err == nil {
			err = answer.Body.Close()
		}
		answered <- err
	}()
	for i := 1; i <= pieces; i++ {
		piece := fmt.Sprintf("piece %d", i)
		_, err := io.WriteString(writer, piece)
		Expect(err).NotTo(HaveOccurred(), "sending piece %d of a stream (%s)", i, kind)
		Eventually(ctx, heard).WithTimeout(pieceWithin).Should(Receive(Equal(piece)), "piece %d of a stream sent (%s), before the next is sent", i, kind)
	}
	engine.Harness(writer.Close())
	Eventually(ctx, answered).WithTimeout(pieceWithin).Should(Receive(BeNil()), "the end of a stream sent (%s)", kind)
}
