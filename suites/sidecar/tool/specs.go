// Package tool proves that the browser_* tools do to a page what they say, as the page itself saw it.
package tool

import (
	"context"
	"regexp"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
)

// Specs registers the section's specs.
func Specs(l *lab.Lab) {
	ginkgo.Describe("tool", func() {
		refs(l)
		navigating(l)
		typing(l)
		typingSlowly(l)
		submitting(l)
		tabs(l)
		closing(l)
	})
}

// eventsPage writes down what its elements are told (fixtures/pages/events.html).
const eventsPage = "/pages/events.html"

// event is something that the page of events saw.
type event struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Key     string `json:"key"`
	Trusted bool   `json:"trusted"`
}

// do calls a tool that has to succeed and returns its text.
func do(ctx context.Context, session *lab.Session, tool string, arguments map[string]any) string {
	ginkgo.GinkgoHelper()
	result, err := session.Call(ctx, tool, arguments)
	Expect(err).NotTo(HaveOccurred(), "calling %s %v", tool, arguments)
	Expect(result.IsError).To(BeFalse(), "%s %v is no error; it says: %s", tool, arguments, result.Text)
	return result.Text
}

// fail calls a tool that has to be an error.
func fail(ctx context.Context, session *lab.Session, tool string, arguments map[string]any) {
	ginkgo.GinkgoHelper()
	result, err := session.Call(ctx, tool, arguments)
	Expect(err).NotTo(HaveOccurred(), "calling %s %v", tool, arguments)
	Expect(result.IsError).To(BeTrue(), "%s %v is an error; it says: %s", tool, arguments, result.Text)
}

// read evaluates an expression in the session's page.
func read[T any](ctx context.Context, session *lab.Session, expression string) T {
	ginkgo.GinkgoHelper()
	var value T
	Expect(session.Evaluate(ctx, "() => "+expression, &value)).To(Succeed(), "reading %s in the page", expression)
	return value
}

// open navigates to a path of the app.
func open(ctx context.Context, l *lab.Lab, session *lab.Session, path string) {
	ginkgo.GinkgoHelper()
	Expect(session.Navigate(ctx, l.AppURL(path))).To(Succeed(), "opening %s of the app", path)
}

// snapshot takes a snapshot, whose refs are good from now on.
func snapshot(ctx context.Context, session *lab.Session) string {
	ginkgo.GinkgoHelper()
	return do(ctx, session, "browser_snapshot", nil)
}

// ref finds the ref of an element in a snapshot.
func ref(snapshot, role, name string) string {
	ginkgo.GinkgoHelper()
	line := regexp.MustCompile(`- '?` + role + ` "` + regexp.QuoteMeta(name) + `"[^\n]*\[ref=((?:f\d+)?e\d+)\]`)
	match := line.FindStringSubmatch(snapshot)
	Expect(match).NotTo(BeNil(), "finding the ref of the %s %q in the snapshot: %s", role, name, snapshot)
	return match[1]
}
