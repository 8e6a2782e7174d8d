package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// "When the address is taken, serve exits non-zero with a message on stderr that names the address and the port, and leaves
// no process and no directory."
func taken(l *lab.Lab) {
	It("gives up when another sidecar has the port", engine.Clause("cli.port-in-use"), func(ctx SpecContext) {
		holder := attack.Sidecar(ctx, l)
		refused(ctx, l, "127.0.0.1", holder.Port, []string{"127.0.0.1"})
		attack.Alive(ctx, holder)
	})

	DescribeTable("gives up when something else has the port", engine.Clause("cli.port-in-use"),
		func(ctx SpecContext, host string, addrs ...string) {
			port := 0
			var holders []net.Listener
			for _, addr := range addrs {
				holder, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(addr, strconv.Itoa(port)))
				engine.Harness(err)
				DeferCleanup(holder.Close)
				at, err := netip.ParseAddrPort(holder.Addr().String())
				engine.Harness(err)
				port = int(at.Port())
				holders = append(holders, holder)
			}
			refused(ctx, l, host, port, append(addrs, host))
			for _, holder := range holders {
				answers(ctx, holder)
			}
		},
		Entry("on an IPv4 address", "127.0.0.1", "127.0.0.1"),
		Entry("on an IPv6 address", "::1", "::1"),
		Entry("on all addresses of a name", "localhost", "127.0.0.1", "::1"),
	)
}

// refused starts a sidecar on an address that is taken. Its message must name the port, and the address by one of its names.
func refused(ctx SpecContext, l *lab.Lab, host string, port int, names []string) {
	GinkgoHelper()
	c, workdir := base(l, func(c lab.Config) lab.Config { return c.With("host", host).With("port", port) })
	before := l.Census()
	p := launch(ctx, l, c)
	_, err := p.ReadyLine(ctx, 20*time.Second)
	var died *target.DiedError
	Expect(errors.As(err, &died)).To(BeTrue(), "a start on a taken address ends before it is ready: %v", err)
	exit, log := p.Exit(), p.Stderr.String()
	Expect(exit.Code).NotTo(BeZero(), "the exit when %s is taken", net.JoinHostPort(host, strconv.Itoa(port)))
	Expect(p.Stdout.String()).To(BeEmpty(), "what is printed on stdout")
	Expect(log).To(ContainSubstring(strconv.Itoa(port)), "the port in the message on stderr")
	Expect(names).To(ContainElement(WithTransform(func(name string) bool { return strings.Contains(log, name) }, BeTrue())),
		"the address, by one of its names, in the message on stderr: %s", log)
	nothing(ctx, before, workdir, "a start on a taken address")
}

// answers checks that a listener of the suite still gets its connections.
func answers(ctx context.Context, holder net.Listener) {
	GinkgoHelper()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", holder.Addr().String())
	Expect(err).NotTo(HaveOccurred(), "connecting to who holds the port")
	defer conn.Close()
	got, err := holder.Accept()
	Expect(err).NotTo(HaveOccurred(), "taking a connection where the port is held")
	defer got.Close()
	Expect(got.RemoteAddr().String()).To(Equal(conn.LocalAddr().String()), "the peer of the connection")
}

// "check prints a JSON object with version and chromium, an object with installed (boolean) and executable (path or null),
// exits 0, and starts neither a browser nor a listener."
func checks(l *lab.Lab) {
	DescribeTable("tells what is installed and starts nothing", engine.Clause("cli.check"),
		func(ctx SpecContext, stdin func() []byte) {
			running := attack.Sidecar(ctx, l)
			before := l.Census()
			watch, err := lab.WatchListeners()
			engine.Harness(err)
			DeferCleanup(watch.Stop)
			p, err := l.Run(ctx, target.Options{Args: []string{"check"}, Stdin: stdin()})
			Expect(err).NotTo(HaveOccurred(), "running check")
			var browsers []lab.Process
			// What it starts is looked for as often as can be while it runs, and once more afterwards.
			Eventually(ctx, func() <-chan struct{} {
				over := p.Exited()
				if b, there := before.Browser(); there {
					browsers = append(browsers, b)
				}
				return over
			}).WithTimeout(20*time.Second).WithPolling(time.Millisecond).Should(BeClosed(), "the end of check")
			listeners, err := watch.Stop()
			engine.Harness(err)
			exit := p.Exit()
			Expect(exit).To(Equal(target.Exit{}), "the exit of check: %s", p.Stderr.Tail(10))
			Expect(browsers).To(BeEmpty(), "browsers that check started")
			Expect(listeners).To(BeEmpty(), "where something listened while check ran")
			attack.Gone(ctx, before, "check")
			describes(p.Stdout.String(), running)
		},
		Entry("with nothing on stdin", func() []byte { return nil }),
		Entry("with a configuration on stdin", func() []byte {
			c, _ := base(l, nil)
			text, err := c.JSON()
			engine.Harness(err)
			return text
		}),
	)
}

// describes judges what check printed, beside a sidecar that runs.
func describes(text string, running *lab.Sidecar) {
	GinkgoHelper()
	// The keys are read as they are written: a struct's would match in any case.
	var report map[string]any
	Expect(json.Unmarshal([]byte(text), &report)).To(Succeed(), "reading what check prints as one JSON object: %q", text)
	Expect(report).To(HaveKeyWithValue("version", And(BeAssignableToTypeOf(""), Not(BeEmpty()))), "version in %q", text)
	Expect(report).To(HaveKeyWithValue("chromium", BeAssignableToTypeOf(map[string]any{})), "chromium in %q", text)
	chromium, _ := report["chromium"].(map[string]any)
	Expect(chromium).To(HaveKeyWithValue("installed", true), "installed in %q, while a sidecar runs a browser", text)
	Expect(chromium).To(HaveKeyWithValue("executable", And(BeAssignableToTypeOf(""), Not(BeEmpty()))), "executable in %q", text)
	executable, _ := chromium["executable"].(string)
	// The target's own files, where it is a container.
	root := filepath.Join("/proc", strconv.Itoa(running.PID), "root")
	info, err := os.Stat(filepath.Join(root, executable))
	Expect(err).NotTo(HaveOccurred(), "looking at the executable that check names")
	Expect(info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0).To(BeTrue(), "%s is an executable file: %s", executable, info.Mode())
}
