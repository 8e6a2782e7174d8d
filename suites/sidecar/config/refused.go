package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

// atOnce is how many starts run at a time: most of a container's start is waiting.
const atOnce = 8

// refused starts the target once with each fault and wants every start to fail as cli.invalid-config says: non-zero, before
// anything listens, nothing on stdout, one line on stderr that names the key and shows no secret, nothing left.
func refused(ctx SpecContext, l *lab.Lab, faults []fault) {
	GinkgoHelper()
	refusedWith(ctx, l, faults, func(*trial) (target.Options, error) { return target.Options{}, nil })
}

// refusedWith is refused with other arguments, such as a file instead of stdin.
func refusedWith(ctx SpecContext, l *lab.Lab, faults []fault, options func(*trial) (target.Options, error)) {
	GinkgoHelper()
	before := l.Census()
	secrets := vault{}
	trials, err := written(l, secrets, faults)
	engine.Harness(err)
	wrong := make([]string, len(trials))
	listened, err := watched(func() error {
		return together(trials, func(i int, t *trial) error {
			o, err := options(t)
			if err == nil {
				wrong[i], err = t.run(ctx, l, secrets, o)
			}
			return err
		})
	})
	engine.Harness(err)
	blame(trials, wrong)
	Expect(listened).To(BeEmpty(), "what began to listen during %d starts that must fail", len(faults))
	attack.Gone(ctx, before, fmt.Sprintf("%d starts that failed", len(faults)))
	// Not before: it would end what they left.
	engine.Harness(together(trials, func(_ int, t *trial) error { return l.Discard(ctx, t.process) }))
}

func written(l *lab.Lab, secrets vault, faults []fault) ([]*trial, error) {
	trials := make([]*trial, 0, len(faults))
	for _, f := range faults {
		t, err := newTrial(l, secrets, f)
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	return trials, secrets.hide(l)
}

// blame fails with every trial that went wrong.
func blame(trials []*trial, wrong []string) {
	GinkgoHelper()
	var lines []string
	for i, w := range wrong {
		if w != "" {
			lines = append(lines, trials[i].String()+": "+w)
		}
	}
	if len(lines) == 0 {
		return
	}
	const most = 12 // of a table in which everything may be wrong
	engine.Fail(fmt.Sprintf("starting with %d configurations, each with one fault", len(trials)),
		[]string{"an exit code other than 0, nothing on stdout, one line on stderr that names the key and shows no secret, nothing left"},
		fmt.Sprintf("%d that were not refused so:\n%s", len(lines), strings.Join(lines[:min(most, len(lines))], "\n")))
}

// together does something with every trial, several at a time.
func together(trials []*trial, do func(i int, t *trial) error) error {
	errs := make([]error, len(trials))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, t := range trials {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = do(i, t)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// watched lists what begins to listen while do runs.
func watched[T any](do func() T) ([]netip.AddrPort, T) {
	GinkgoHelper()
	watch, err := lab.WatchListeners()
	engine.Harness(err)
	result := do()
	listened, err := watch.Stop()
	engine.Harness(err)
	return listened, result
}

// accepted starts a sidecar with a configuration that is valid, sees that it answers, and ends it.
func accepted(ctx SpecContext, l *lab.Lab, did string, c lab.Config) {
	GinkgoHelper()
	s, err := l.Start(ctx, c)
	Expect(err).NotTo(HaveOccurred(), "starting with "+did)
	attack.Accepted(ctx, s, "asking for the health of a sidecar with "+did, s.Get("/health"))
	engine.Harness(s.Remove(ctx))
}
