package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

func private(l *lab.Lab) {
	// "The values of token and recording.token are in no argument and no environment of any process of the sidecar, and in no
	// log line, ready line or error."
	It("keeps its tokens out of processes and logs while it works", engine.Clause("config.secrets-private"), func(ctx SpecContext) {
		c, tokens := twoTokens(l)
		watch := watchPrograms()
		s, err := l.Start(ctx, c)
		Expect(err).NotTo(HaveOccurred(), "starting with recording and live")
		work(ctx, l, s)
		engine.Harness(allRead())
		stop(ctx, s)
		seen, err := watch.end()
		engine.Harness(err)

		Expect(seen).To(ContainElement(HavePrefix("serve")), "the control: the arguments of the sidecar's process")
		Expect(seen).To(ContainElement(HavePrefix("HOME=")), "the control: the environments of processes")
		for _, entry := range seen {
			if form := tokens.shown(entry); form != "" {
				engine.Fail("looking at the arguments and environments of every process while a sidecar worked", []string{"none that shows a token"},
					fmt.Sprintf("one that shows a token %s: %q", form, abridged(entry)))
			}
		}
		Expect(s.Ready).NotTo(BeEmpty(), "the control: the ready line")
		for name, said := range map[string]*target.Output{"stdout": s.Process.Stdout, "stderr": s.Process.Stderr} {
			Expect(tokens.shown(said.String())).To(BeEmpty(), "how a token shows in what the sidecar printed on %s: %s", name, said)
		}
	})

	// "… or error."
	It("keeps its tokens out of the error of a start that fails", engine.Clause("config.secrets-private"), func(ctx SpecContext) {
		shared := attack.Sidecar(ctx, l)
		c, tokens := twoTokens(l)
		c = c.With("port", shared.Port)
		text, err := c.JSON()
		engine.Harness(err)
		p, err := l.Run(ctx, target.Options{Stdin: text})
		Expect(err).NotTo(HaveOccurred(), "starting at a port that is taken")
		exit, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred(), "waiting for the end of a start at a port that is taken")
		Expect(exit.Code).NotTo(Equal(0), "the exit of a start at a port that is taken")
		Expect(p.Stderr.String()).NotTo(BeEmpty(), "the control: what a start at a port that is taken says")
		for name, said := range map[string]*target.Output{"stdout": p.Stdout, "stderr": p.Stderr} {
			Expect(tokens.shown(said.String())).To(BeEmpty(), "how a token shows in what the failed start printed on %s: %s", name, said)
		}
		attack.Alive(ctx, shared)
	})
}

// twoTokens is a configuration with both tokens, and a vault of them alone.
func twoTokens(l *lab.Lab) (lab.Config, vault) {
	GinkgoHelper()
	all := vault{}
	c, err := base(l, all)
	engine.Harness(err)
	return c, vault{"token": all["token"], "recording.token": all["recording.token"]}
}

// allRead makes sure that no process hides from the spec.
func allRead() error {
	all, err := lab.Programs()
	errs := []error{err}
	for _, p := range all {
		errs = append(errs, p.Unread)
	}
	return errors.Join(errs...)
}

// work gives the sidecar every occasion to tell its tokens: pages, calls that fail, and refused requests with tokens that
// are wrong, nearly right, or right in the wrong place.
func work(ctx SpecContext, l *lab.Lab, s *lab.Sidecar) {
	GinkgoHelper()
	session := attack.Connect(ctx, s)
	Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
	var logged bool
	Expect(session.Evaluate(ctx, "() => { console.error('the page fails'); setTimeout(() => { throw new Error('late') }); return true }", &logged)).
		To(Succeed(), "logging in the page")
	for tool, arguments := range map[string]map[string]any{
		"browser_navigate": {"url": "http://127.0.0.1:1/"}, "browser_click": {"element": "none", "ref": "e0"},
		"browser_evaluate": {"function": "() => { throw new Error('fails') }"}, "browser_nothing": {},
	} {
		// Whether it is a tool's error or the protocol's is free.
		_, _ = session.Call(ctx, tool, arguments)
	}
	token := s.Token()
	basic := base64.StdEncoding.EncodeToString([]byte("agent:" + token))
	plain := s.Get("/health").Without("Authorization")
	attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{
		{Did: "no token", Request: plain},
		{Did: "a longer token", Request: plain.Add("Authorization", "Bearer "+token+"x")},
		{Did: "a shorter token", Request: plain.Add("Authorization", "Bearer "+token[:len(token)-1])},
		{Did: "the token in lower case", Request: plain.Add("Authorization", "Bearer "+strings.ToLower(token))},
		{Did: "Basic with the token", Request: plain.Add("Authorization", "Basic "+basic)},
		{Did: "another scheme with the token", Request: plain.Add("Authorization", "Token "+token)},
		{Did: "the token alone", Request: plain.Add("Authorization", token)},
		{Did: "the token in the query", Request: plain.To("/health?access_token=" + token)},
		{Did: "the token in the path", Request: plain.To("/" + token)},
		{Did: "the token in a cookie", Request: plain.Add("Cookie", "token="+token)},
		{Did: "the token with a page's Origin", Request: s.Get("/health").Add("Origin", "http://evil.test")},
		{Did: "the token with another Host", Request: s.Get("/health").Set("Host", "evil.test")},
		{Did: "the token at a path that isn't there", Request: s.Get("/nowhere"), Want: []int{404}},
		{Did: "the token with a broken body", Request: s.Post("/mcp", []byte(`{"jsonrpc": "2.0",`))},
	})
}

// stop ends a sidecar in order, so that it says all that it has to say.
func stop(ctx SpecContext, s *lab.Sidecar) {
	GinkgoHelper()
	_, err := s.Stop(ctx, syscall.SIGTERM)
	Expect(err).NotTo(HaveOccurred(), "stopping the sidecar")
}

// programWatch collects what the arguments and environments of the lab's processes show from time to time, of those too that
// live only for a moment.
type programWatch struct {
	stop, done chan struct{}
	once       sync.Once
	// valid once done is closed
	seen map[string]bool
	err  error
}

func watchPrograms() *programWatch {
	w := &programWatch{stop: make(chan struct{}), done: make(chan struct{}), seen: make(map[string]bool)}
	go w.watch()
	DeferCleanup(func() { _, _ = w.end() }) // also when an assertion fails meanwhile
	return w
}

func (w *programWatch) watch() {
	defer close(w.done)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := lab.Programs()
		if err != nil {
			w.err = err
			return
		}
		for _, p := range all {
			for entry := range strings.SplitSeq(p.Args+"\x00"+p.Env, "\x00") {
				w.seen[entry] = true
			}
		}
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
	}
}

// end lists every argument and every variable that was seen.
func (w *programWatch) end() ([]string, error) {
	w.once.Do(func() { close(w.stop) })
	<-w.done
	all := make([]string, 0, len(w.seen))
	for entry := range w.seen {
		all = append(all, entry)
	}
	return all, w.err
}
