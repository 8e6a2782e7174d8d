package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/spec"
)

// insideEnv makes the test binary run the specs below: Ginkgo runs once in a process.
const insideEnv = "CONFORMANCE_ENGINE_TEST_INSIDE"

// specs are one of each kind.
func specs() {
	ginkgo.Describe("it", func() {
		ginkgo.It("passes", Clause("a.passes"), func(ginkgo.SpecContext) {})
		ginkgo.It("fails", Clause("a.fails"), func(ginkgo.SpecContext) { Fail("did", []string{"x", "y"}, "z") })
		ginkgo.It("can't", Clause("a.cant"), func(ginkgo.SpecContext) { CouldNotRun("no %s", "browser") })
		ginkgo.It("breaks", Clause("a.breaks"), func(ginkgo.SpecContext) { Harness(errors.New("no canary")) })
		ginkgo.It("panics", Clause("a.panics"), func(ginkgo.SpecContext) { panic("a bug") })
		ginkgo.It("is late", Clause("a.late"), ginkgo.SpecTimeout(20*time.Millisecond), func(ctx ginkgo.SpecContext) { <-ctx.Done() })
		ginkgo.It("leaves a mess", Clause("a.mess"), func(ginkgo.SpecContext) {})
		ginkgo.It("is not selected", Clause("a.other"), func(ginkgo.SpecContext) { gomega.Expect(1).To(gomega.Equal(2)) })
	})
}

// bench is a lab that can't put a mess away.
type bench struct{}

func (bench) Begin() error { return nil }
func (bench) Evidence(context.Context) map[string][]byte {
	return map[string][]byte{"log.txt": []byte("seen")}
}

func (bench) Finish(context.Context, bool) error {
	if ginkgo.CurrentSpecReport().LeafNodeText == "leaves a mess" {
		return errors.New("removing the target")
	}
	return nil
}

// printer prints each event as a line that the test outside reads.
type printer struct{ full bool }

func (p printer) Notify(method string, params any) error {
	text, err := json.Marshal(params)
	fmt.Printf("\nEVENT %s %s\n", method, text)
	if p.full {
		return errors.New("the wire is closed")
	}
	return err
}

// TestSpecsInside is run by the tests below.
func TestSpecsInside(t *testing.T) {
	kind := os.Getenv(insideEnv)
	if kind == "" {
		return
	}
	contract := &spec.Contract{Name: "test"}
	order := Order{Seed: 1}
	for _, name := range []string{"passes", "fails", "cant", "breaks", "panics", "late", "mess", "other"} {
		contract.Clauses = append(contract.Clauses, spec.Clause{ID: "a." + name})
		if name != "other" {
			order.Clauses = append(order.Clauses, "a."+name)
		}
	}
	suite, err := New(contract, specs)
	if err != nil {
		t.Fatal(err)
	}
	if n := suite.Count(order.Clauses); n != len(order.Clauses) {
		t.Errorf("want a spec for each of %d clauses, got %d", len(order.Clauses), n)
	}
	if err := suite.Run(order, bench{}, printer{kind == "untold"}); (err != nil) != (kind == "untold") {
		t.Errorf("%s: got %v", kind, err)
	}
}

// events runs the specs in a process of their own and returns what it told.
func events(t *testing.T, kind string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestSpecsInside$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), insideEnv+"="+kind)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		if event, ok := strings.CutPrefix(strings.TrimSpace(line), "EVENT "); ok {
			all = append(all, event)
		}
	}
	return all
}

func TestRunTellsWhatBecameOfEachSpec(t *testing.T) {
	outcomes := make(map[string]string)
	evidence := make(map[string]bool)
	failures := make(map[string]Failure)
	began := ""
	for _, event := range events(t, "told") {
		method, params, _ := strings.Cut(event, " ")
		switch method {
		case EventBegan:
			e, err := Decode[Began](json.RawMessage(params))
			if err != nil {
				t.Fatal(err)
			}
			began = e.Clause
		case EventEvidence:
			e, err := Decode[Evidence](json.RawMessage(params))
			if err != nil || e.Name != "log.txt" || string(e.Data) != "seen" {
				t.Errorf("got %s, %v", params, err)
			}
			evidence[e.Clause] = true
		case EventEnded:
			e, err := Decode[Ended](json.RawMessage(params))
			if err != nil || e.Clause != began {
				t.Errorf("the end of %s came after the beginning of %s (%v)", e.Clause, began, err)
			}
			outcomes[e.Clause] = e.Outcome
			if e.Failure != nil {
				failures[e.Clause] = *e.Failure
			}
		}
	}
	want := map[string]string{
		"a.passes": pass, "a.fails": fail, "a.cant": couldNotRun, "a.breaks": harnessError, "a.panics": harnessError,
		"a.late": timeout, "a.mess": harnessError,
	}
	if !reflect.DeepEqual(outcomes, want) {
		t.Errorf("want %v, got %v", want, outcomes)
	}
	for _, id := range []string{"a.fails", "a.late", "a.breaks", "a.panics"} {
		if !evidence[id] {
			t.Errorf("%s failed without evidence", id)
		}
	}
	if f := failures["a.fails"]; f.Did != "did" || f.Got != "z" || !strings.HasPrefix(f.Location, "engine/run_test.go:") {
		t.Errorf("got %+v", f)
	}
	if f := failures["a.panics"]; !strings.Contains(f.Message, "a bug") {
		t.Errorf("want the panic's text, got %+v", f)
	}
}

func TestRunSaysThatASinkCouldNotBeTold(t *testing.T) { events(t, "untold") }
