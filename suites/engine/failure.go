package engine

import (
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"
)

// harnessPrefix marks a failure that is the suite's own.
const harnessPrefix = "harness error: "

// Fail ends the spec as failed: did is what the spec did, want every answer that would have kept the clause, got what
// came instead.
func Fail(did string, want []string, got string) {
	ginkgo.GinkgoHelper()
	ginkgo.Fail(fmt.Sprintf("%s\nwant any of: %s\ngot: %s", did, strings.Join(want, " | "), got))
}

// CouldNotRun ends the spec: what it needs can't be arranged with this target. It counts against the verdict.
func CouldNotRun(format string, args ...any) {
	ginkgo.GinkgoHelper()
	ginkgo.Skip(fmt.Sprintf(format, args...))
}

// Harness ends the spec when something of the suite's own went wrong, which is nobody's fault but ours.
func Harness(err error) {
	ginkgo.GinkgoHelper()
	if err != nil {
		ginkgo.Fail(harnessPrefix + err.Error())
	}
}

// errorForm is how Gomega words an error where none was wanted.
type errorForm struct{ heading, want string }

func errorForms() []errorForm {
	return []errorForm{
		{"Unexpected error:", "no error"},
		{"Expected success, but got an error:", "success"},
	}
}

// parseFailure finds the three parts of a failure's text: Fail's own form, and Gomega's, whose first line is the
// description that the assertion was given. Gomega words an error that isn't wanted in forms of its own.
func parseFailure(message string) Failure {
	f := Failure{Message: message}
	if did, rest, ok := strings.Cut(message, "\nwant any of: "); ok {
		want, got, _ := strings.Cut(rest, "\ngot: ")
		f.Did, f.Want, f.Got = did, strings.Split(want, " | "), got
		return f
	}
	for _, form := range errorForms() {
		if before, rest, ok := strings.Cut(message, form.heading); ok {
			got, _, _ := strings.Cut(rest, "\noccurred")
			f.Did, f.Want, f.Got = strings.TrimSpace(before), []string{form.want}, strings.TrimSpace(got)
			return f
		}
	}
	before, rest, ok := strings.Cut(message, "Expected\n")
	if !ok {
		return f
	}
	f.Did = strings.TrimSpace(before)
	got, want, ok := strings.Cut(rest, "\nto ")
	if !ok {
		return f
	}
	f.Got = strings.TrimSpace(got)
	f.Want = []string{"to " + strings.Join(strings.Fields(want), " ")}
	return f
}
