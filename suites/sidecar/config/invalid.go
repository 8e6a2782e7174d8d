package config

import (
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

func invalid(l *lab.Lab) {
	// "A configuration that breaks a rule of config.md makes serve exit non-zero … with nothing on stdout and one line on
	// stderr that names the key at fault and shows no secret."
	It("names the key of whatever is at fault, and shows no secret", engine.Clause("cli.invalid-config"), refuseWithin, func(ctx SpecContext) {
		refused(ctx, l, slices.Concat(oneOfEach(), secretsAtFault()))
		c, err := base(l, vault{})
		engine.Harness(err)
		accepted(ctx, l, "the same secrets and no fault", c)
	})

	// "… or from the file that --config-file PATH names …" (cli.ready-line)
	It("refuses a file as it refuses its input", engine.Clause("cli.invalid-config"), refuseWithin, func(ctx SpecContext) {
		refusedWith(ctx, l, slices.Concat(oneOfEach()[:4], texts("", "{", "[${config}]")), func(t *trial) (target.Options, error) {
			path, err := l.TextFile(t.text)
			return target.Options{Args: []string{"serve", "--config-file", path}}, err
		})
		unreadable(ctx, l)
		c, err := base(l, vault{})
		engine.Harness(err)
		text, err := c.JSON()
		engine.Harness(err)
		path, err := l.TextFile(text)
		engine.Harness(err)
		s, err := l.StartWith(ctx, c, target.Options{Args: []string{"serve", "--config-file", path}})
		Expect(err).NotTo(HaveOccurred(), "starting with a valid configuration in a file")
		attack.Alive(ctx, s)
	})

	// "… before anything listens …"
	It("listens to nothing before it has judged the whole configuration", engine.Clause("cli.invalid-config"), refuseWithin, func(ctx SpecContext) {
		// A long text, of which the last key is wrong, gives a sidecar that listens too early the time to be seen.
		long := `, "padding": ["` + strings.Repeat("x", 8<<20) + `"], "port": -1}`
		refused(ctx, l, []fault{
			{is: `{"token": "${64}", "app_url": "` + l.AppURL("") + `"` + long, names: []string{"port"}},
		})
		listened, s := watched(func() *lab.Sidecar { return attack.Start(ctx, l, nil) })
		var ports []int
		for _, at := range listened {
			ports = append(ports, int(at.Port()))
		}
		Expect(ports).To(ContainElement(s.Port), "the control: the ports that a valid start listens on, as the watch saw them")
	})
}

// unreadable starts with files that can't be read. The contract says nothing of their message but that there is one.
func unreadable(ctx SpecContext, l *lab.Lab) {
	GinkgoHelper()
	c, err := l.BaseConfig()
	engine.Harness(err)
	dir, _ := c["workdir"].(string)
	for did, path := range map[string]string{"a file that does not exist": filepath.Join(dir, "missing"), "a directory": dir} {
		listened, p := watched(func() *target.Process {
			p, err := l.Run(ctx, target.Options{Args: []string{"serve", "--config-file", path}})
			Expect(err).NotTo(HaveOccurred(), "running serve with %s", did)
			_, err = p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred(), "waiting for the end of serve with %s", did)
			return p
		})
		exit := p.Exit()
		Expect(exit.Code).NotTo(Equal(0), "the exit of serve with %s", did)
		Expect(exit.Signal).To(BeZero(), "the signal that ended serve with %s", did)
		Expect(p.Stdout.String()).To(BeEmpty(), "what serve with %s prints on stdout", did)
		Expect(strings.TrimSpace(p.Stderr.String())).NotTo(BeEmpty(), "what serve with %s says on stderr", did)
		Expect(listened).To(BeEmpty(), "what began to listen with %s", did)
	}
}

// oneOfEach has one fault of each key.
func oneOfEach() []fault {
	return slices.Concat(
		at("token", absent), at("app_url", `"ftp://127.0.0.1/"`), at("port", `65536`), at("recording.token", absent), at("live.origins", `[]`),
		at("mode", `"hidden"`), at("capabilities", `["devtools"]`), at("host", `""`), at("allowed_hosts", `[""]`), at("workdir", `"${missing}"`),
		at("stop_at", `"soon"`), at("chromium_sandbox", `"false"`), at("recording", `17`), at("recording.url", `"/"`),
		at("recording.batch_events", `0`), at("recording.batch_bytes", `0`), at("live", `17`), at("live.session_id", `""`),
		at("live.agent_wait_ms", `45001`), at("live.release_grace_ms", `0`), at("live.upload_max_file_bytes", `0`),
		at("live.upload_max_files", `-1`), at("live.upload_max_session_bytes", `0`), at("storage_state", `17`),
		at("storage_state.cookies", `17`), at("storage_state.origins", `17`),
	)
}

// secretsAtFault are faults that lie in a secret itself.
func secretsAtFault() []fault {
	return slices.Concat(tokenFaults(), at("recording.token", `"${31}"`, `"${32}\t${32}"`, `["${64}"]`),
		slices.DeleteFunc(slices.Concat(storageFaults(), textFaults()), func(f fault) bool { return !strings.Contains(f.is, "${") }))
}
