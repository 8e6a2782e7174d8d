package main_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/mutants"
	"github.com/browser-sidecar/conformance/report"
)

// binaries are this command and the reference, built once for all tests of the package.
type binaries struct{ conformance, sidecar string }

// build builds both; the tests need no Docker, but Chromium and user namespaces.
func build(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	b := binaries{filepath.Join(dir, "conformance"), filepath.Join(dir, "sidecar")}
	for out, pkg := range map[string]string{b.conformance: "./cmd/conformance", b.sidecar: "./cmd/sidecar"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, pkg)
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", pkg, err, text)
		}
	}
	return b
}

// needsChromium skips a test where the machine has no browser, and fails it in CI, where it must have one.
func needsChromium(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"chromium", "certutil"} {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing", tool)
		}
		t.Skipf("needs %s (hack/setup installs it)", tool)
	}
}

// conformance runs the command and returns its exit code and what it printed.
func (b binaries) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.conformance, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running conformance %q: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// suite runs specs against the given sidecar and returns the exit code and the report.
func (b binaries) suite(t *testing.T, sidecar []string, flags ...string) (int, *report.Run, string) {
	t.Helper()
	out := t.TempDir()
	args := append([]string{"run", "--target", "command", "--out", out}, flags...)
	code, text := b.run(t, append(append(args, "--"), sidecar...)...)
	f, err := os.Open(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	defer f.Close()
	r, err := report.ReadJSON(f)
	if err != nil {
		t.Fatalf("reading the report: %v", err)
	}
	return code, r, out
}

func TestWrongUsageExits64(t *testing.T) {
	b := build(t)
	for name, args := range map[string][]string{
		"no command":         {},
		"an unknown command": {"frobnicate"},
		"an unknown flag":    {"run", "--frobnicate"},
		"no target":          {"run"},
		"an unknown target":  {"run", "--target", "url"},
		"no sidecar":         {"run", "--target", "command"},
		"an unknown clause":  {"run", "--target", "command", "--clause", "egress.loopbak", "--", "x"},
		"an unknown section": {"run", "--target", "command", "--section", "egres", "--", "x"},
		"an unknown profile": {"run", "--target", "command", "--profile", "cor", "--", "x"},
		"an unknown claim":   {"run", "--target", "command", "--claim", "cor", "--", "x"},
		"an empty selection": {"run", "--target", "command", "--section", "egress", "--profile", "recording", "--", "x"},
		"a selection of pending clauses of no claimed profile": {"run", "--target", "command", "--section", "ticket", "--", "x"},
		"a seccomp profile that isn't there":                   {"run", "--target", "image", "--image", "x", "--seccomp", "no-such.json"},
		"a seccomp profile that isn't JSON":                    {"run", "--target", "image", "--image", "x", "--seccomp", "run_test.go"},
		"a negative number of labs":                            {"run", "--target", "command", "-p", "-1", "--", "x"},
		"a bad sandbox":                                        {"run", "--target", "command", "--chromium-sandbox", "maybe", "--", "x"},
		"an unknown list flag":                                 {"list", "--frobnicate"},
		"an unknown list clause":                               {"list", "--clause", "no.such"},
		"an unknown mutant":                                    {"mutants", "--root", filepath.Join("..", ".."), "--mutant", "no-such"},
		"no mutants":                                           {"mutants", "--root", t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			if code, text := b.run(t, args...); code != report.ExitUsage || text == "" {
				t.Errorf("conformance %q: want exit 64 and a reason, got %d: %s", args, code, text)
			}
		})
	}
}

func TestTargetThatNeverBecomesReadyExits3Once(t *testing.T) {
	needsChromium(t)
	b := build(t)
	for name, sidecar := range map[string][]string{
		"it dies":         {"/bin/sh", "-c", "echo it broke >&2; exit 7"},
		"it is silent":    {"/bin/sleep", "600"},
		"it says rubbish": {"/bin/sh", "-c", "echo hello; sleep 600"},
	} {
		t.Run(name, func(t *testing.T) {
			code, r, _ := b.suite(t, sidecar)
			if code != report.ExitTargetNeverReady {
				t.Errorf("want exit 3, got %d: %s", code, r.Verdict.Text)
			}
			if took := r.Finished.Sub(r.Started); took > 10*time.Second {
				t.Errorf("it took %s to say so, want 10s at most", took)
			}
			for _, part := range []string{"exit code 7", "it broke"} {
				if name == "it dies" && !strings.Contains(r.TargetNeverReady, part) {
					t.Errorf("want the exit code and the last lines, got %q", r.TargetNeverReady)
				}
			}
		})
	}
}

func TestClaimedProfileThatCouldNotRunExits2(t *testing.T) {
	needsChromium(t)
	b := build(t)
	code, r, _ := b.suite(t, []string{b.sidecar}, "--claim", "core,recording", "--clause", "http.health", "--section", "http,recording",
		"--clause", "recording.shape")
	if code != report.ExitIncomplete || r.Verdict.Value != report.Incomplete {
		t.Errorf("want exit 2 and incomplete, got %d: %s", code, r.Verdict.Text)
	}
}

func TestMutantExits1AndLeaksNoSecret(t *testing.T) {
	needsChromium(t)
	b := build(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutants.Load(os.DirFS(filepath.Join(root, "mutants")))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(m *mutants.Mutant) bool { return m.Clause == "admission.no-cors" })
	if i < 0 {
		t.Fatal("there is no mutant of admission.no-cors")
	}
	broken := filepath.Join(t.TempDir(), "sidecar")
	if err := all[i].Build(t.Context(), root, broken); err != nil {
		t.Fatal(err)
	}
	code, r, out := b.suite(t, []string{broken}, "--clause", "admission.no-cors")
	if code != report.ExitNotConformant {
		t.Fatalf("want exit 1, got %d: %s", code, r.Verdict.Text)
	}
	if len(r.Evidence) == 0 {
		t.Error("a failure must come with evidence")
	}
	// Every token of the lab begins so; none may be in any file.
	err = filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("lab_")) {
			t.Errorf("%s shows a token", filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// outcomes are what a run said of each clause that it executed.
func outcomes(r *report.Run) map[string]report.Outcome {
	all := make(map[string]report.Outcome)
	for _, c := range r.Clauses {
		if c.Outcome != "" && c.Outcome != report.NotApplicable {
			all[c.ID] = c.Outcome
		}
	}
	return all
}

// No spec may lean on another: any order, and each clause alone, gives the same outcomes.
func TestOutcomesDoNotDependOnTheOrder(t *testing.T) {
	needsChromium(t)
	b := build(t)
	section := []string{"--section", "http"} // each of its clauses starts a lab below
	_, first, _ := b.suite(t, []string{b.sidecar}, append(section, "--seed", "1")...)
	want := outcomes(first)
	if len(want) < 6 {
		t.Fatalf("only %d clauses ran: %s", len(want), first.Verdict.Text)
	}
	_, second, _ := b.suite(t, []string{b.sidecar}, append(section, "--seed", "2")...)
	if got := outcomes(second); !maps.Equal(got, want) {
		t.Errorf("shuffled: want %v, got %v", want, got)
	}
	for id := range want {
		_, alone, _ := b.suite(t, []string{b.sidecar}, "--clause", id)
		if got := outcomes(alone)[id]; got != want[id] {
			t.Errorf("%s alone: want %s, got %s", id, want[id], got)
		}
	}
}
