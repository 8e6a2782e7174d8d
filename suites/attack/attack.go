// Package attack holds what the specs of every section do alike: send a request that must be refused, beside its control
// that must not be, and look whether the target is still alive.
package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// Refused sends each attack and wants one of the statuses; then the control, which must be answered with status 200, and
// the target must be alive. "Refused" must mean neither "dead" nor "refused for another reason".
func Refused(ctx context.Context, s *lab.Sidecar, control lab.Request, attacks []Attack) {
	ginkgo.GinkgoHelper()
	Accepted(ctx, s, "the control before the attacks", control)
	for _, a := range attacks {
		answer, err := s.Do(ctx, a.Request)
		if err != nil {
			engine.Fail(a.Did, a.wants(), "no answer: "+err.Error())
		}
		if !a.wanted(answer.Status) {
			engine.Fail(a.Did, a.wants(), answer.String())
		}
	}
	Accepted(ctx, s, "the control after the attacks", control)
}

// Attack is one request that must be refused: with one of the statuses, or with any of 400 to 499 where it names none.
type Attack struct {
	Did     string
	Request lab.Request
	Want    []int
}

func (a Attack) wanted(status int) bool {
	if a.Want == nil {
		return status/100 == 4
	}
	return slices.Contains(a.Want, status)
}

func (a Attack) wants() []string {
	if a.Want == nil {
		return []string{"a status from 400 to 499"}
	}
	wants := make([]string, 0, len(a.Want))
	for _, status := range a.Want {
		wants = append(wants, "status "+strconv.Itoa(status))
	}
	return wants
}

// Accepted sends a request and wants status 200.
func Accepted(ctx context.Context, s *lab.Sidecar, did string, r lab.Request) *lab.Response {
	ginkgo.GinkgoHelper()
	answer, err := s.Do(ctx, r)
	if err != nil {
		engine.Fail(fmt.Sprintf("%s: %s %s", did, r.Method, r.Target), []string{"status 200"}, err.Error())
	}
	if answer.Status != 200 {
		engine.Fail(fmt.Sprintf("%s: %s %s", did, r.Method, r.Target), []string{"status 200"}, answer.String())
	}
	return answer
}

// Alive wants the sidecar to answer /health.
func Alive(ctx context.Context, s *lab.Sidecar) {
	ginkgo.GinkgoHelper()
	Expect(s.Healthy(ctx)).To(Succeed(), "asking for the sidecar's health after the attack")
}

// HungUp tells whether an error is the peer closing or resetting the connection.
func HungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// Sidecar is the lab's shared sidecar, whose start is no clause's business here.
func Sidecar(ctx context.Context, l *lab.Lab) *lab.Sidecar {
	ginkgo.GinkgoHelper()
	s, err := l.Sidecar(ctx)
	Expect(err).NotTo(HaveOccurred(), "starting the shared sidecar")
	return s
}

// Start starts a sidecar of the spec's own, with changes to the base configuration.
func Start(ctx context.Context, l *lab.Lab, change func(lab.Config) lab.Config) *lab.Sidecar {
	ginkgo.GinkgoHelper()
	c, err := l.BaseConfig()
	engine.Harness(err)
	if change != nil {
		c = change(c)
	}
	s, err := l.Start(ctx, c)
	Expect(err).NotTo(HaveOccurred(), "starting a sidecar")
	return s
}

// endWithin bounds the end of a session that a spec has done with.
const endWithin = 3 * time.Second

// Connect opens an MCP session, which ends with the spec: what its pages would do later must not become another spec's.
func Connect(ctx context.Context, s *lab.Sidecar) *lab.Session {
	ginkgo.GinkgoHelper()
	session, err := s.Connect(ctx)
	Expect(err).NotTo(HaveOccurred(), "opening an MCP session")
	ginkgo.DeferCleanup(func(ctx ginkgo.SpecContext) {
		within, cancel := context.WithTimeout(ctx, endWithin)
		defer cancel()
		// The spec may have ended the session or the sidecar by itself.
		_, _ = s.Do(within, session.DeleteRequest())
	})
	return session
}
