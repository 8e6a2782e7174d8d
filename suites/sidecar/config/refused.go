package config

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

const (
	// atOnce is how many starts run at a time: most of a container's start is waiting.
	atOnce = 8
	// goneWithin bounds the end of what a failed start had started (contract: cli.no-orphans).
	goneWithin = 5 * time.Second
)

// refused starts the target once with each fault and wants every start to fail as cli.invalid-config says: non-zero, before
// anything listens, nothing on stdout, one line on stderr that names the key and shows no secret, nothing left.
func refused(ctx SpecContext, l *lab.Lab, faults []fault) {
	GinkgoHelper()
	refusedWith(ctx, l, faults, func(*trial) (target.Options, error) { return target.Options{}, nil })
}

// refusedWith is refused with other arguments, such as a file instead of stdin.
func refusedWith(ctx SpecContext, l *lab.Lab, faults []fault, options func(*trial) (target.Options, error)) {
	GinkgoHelper()
	before, err := running(ctx, l)
	engine.Harness(err)
	listened, results := watched(func() []string { return together(ctx, l, faults, options) })
	if len(results) > 0 {
		const most = 12 // of a table in which everything may be wrong
		engine.Fail(fmt.Sprintf("starting with %d configurations, each with one fault", len(faults)),
			[]string{"an exit code other than 0, nothing on stdout, one line on stderr that names the key and shows no secret, nothing left"},
			fmt.Sprintf("%d that were not refused so:\n%s", len(results), strings.Join(results[:min(most, len(results))], "\n")))
	}
	Expect(listened).To(BeEmpty(), "what began to listen during %d starts that must fail", len(faults))
	Eventually(ctx, func() ([]string, error) { return since(ctx, l, before) }).WithTimeout(goneWithin).
		Should(BeEmpty(), "processes that are left after %d starts that failed", len(faults))
}

// together tries every fault, several at a time, and lists what is wrong.
func together(ctx context.Context, l *lab.Lab, faults []fault, options func(*trial) (target.Options, error)) []string {
	GinkgoHelper()
	wrong, errs := make([]string, len(faults)), make([]error, len(faults))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, f := range faults {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t, err := newTrial(l, f)
			if err != nil {
				errs[i] = err
				return
			}
			o, err := options(t)
			if err == nil {
				wrong[i], err = t.run(ctx, l, o)
			}
			errs[i] = err
			if wrong[i] != "" {
				wrong[i] = f.String() + ": " + wrong[i]
			}
		})
	}
	all.Wait()
	engine.Harness(errors.Join(errs...))
	return slices.DeleteFunc(wrong, func(w string) bool { return w == "" })
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

// running lists the lab's processes but those of the shared sidecar, whose browser starts and ends some by itself.
func running(ctx context.Context, l *lab.Lab) ([]string, error) {
	shared, err := l.Sidecar(ctx)
	if err != nil {
		return nil, err
	}
	all, err := lab.Programs()
	if err != nil {
		return nil, err
	}
	tree := shared.Tree()
	var found []string
	for _, p := range all {
		if !slices.Contains(tree, p.PID) {
			found = append(found, fmt.Sprintf("%d %s", p.PID, abridged(strings.ReplaceAll(p.Args, "\x00", " "))))
		}
	}
	return found, nil
}

// since lists the processes that were not there before.
func since(ctx context.Context, l *lab.Lab, before []string) ([]string, error) {
	now, err := running(ctx, l)
	return slices.DeleteFunc(now, func(p string) bool { return slices.Contains(before, p) }), err
}

// accepted starts a sidecar with a configuration that is valid, sees that it answers, and ends it.
func accepted(ctx SpecContext, l *lab.Lab, did string, c lab.Config) {
	GinkgoHelper()
	s, err := l.Start(ctx, c)
	Expect(err).NotTo(HaveOccurred(), "starting with "+did)
	attack.Accepted(ctx, s, "asking for the health of a sidecar with "+did, s.Get("/health"))
	engine.Harness(s.Remove(ctx))
}
