package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/target"
)

// The images that "make image" builds.
const (
	labImage     = "browser-sidecar-conformance:dev"
	sidecarImage = "browser-sidecar:dev"
)

// needsImages skips a test where Docker or an image is missing, and fails it in CI, where both must be there.
func needsImages(t *testing.T) {
	t.Helper()
	text, err := docker(t, "image", "inspect", "--format", "{{.Id}}", labImage, sidecarImage)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs Docker with the images %s and %s: %v: %s", labImage, sidecarImage, err, text)
	default:
		t.Skipf("needs Docker with the images %s and %s (make image builds them): %v: %s", labImage, sidecarImage, err, text)
	}
}

func docker(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

// containersOf lists the containers that one runner started.
func containersOf(t *testing.T, pid int) []string {
	t.Helper()
	text, err := docker(t, "ps", "--all", "--quiet", "--filter", "label=browser-sidecar-conformance.runner="+strconv.Itoa(pid))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return strings.Fields(text)
}

// started is a run whose first clause has passed.
type started struct {
	*exec.Cmd
	text *lockedBuffer
	out  string
}

func (b binaries) start(t *testing.T, flags ...string) started {
	t.Helper()
	s := started{text: &lockedBuffer{}, out: t.TempDir()}
	s.Cmd = exec.CommandContext(t.Context(), b.conformance, append([]string{"run", "--out", s.out}, flags...)...)
	s.Stdout, s.Stderr = s.text, s.text
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	if err := s.text.waitFor("PASS", 60*time.Second); err != nil {
		t.Fatal(err)
	}
	return s
}

// labOf finds the directory of a running command target's lab, and its processes.
func labOf(t *testing.T, s started) (dir string, inside []int) {
	t.Helper()
	inside = target.Descendants(s.Process.Pid)
	for _, pid := range inside {
		arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue // it ended meanwhile
		}
		if args := strings.Split(string(arguments), "\x00"); slices.Contains(args, "lab-init") {
			return args[slices.Index(args, "lab-init")+1], inside
		}
	}
	t.Fatalf("no lab among the processes %v", inside)
	return "", nil
}

// interrupted checks how a run ends after Ctrl-C.
func (s started) interrupted(t *testing.T) {
	t.Helper()
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait()
	if code := s.ProcessState.ExitCode(); code != report.ExitIncomplete {
		t.Errorf("want exit 2 after an interrupt, got %d", code)
	}
	if text := s.text.String(); !strings.Contains(text, "the run was interrupted") {
		t.Errorf("want to be told of the interrupt:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(s.out, "report.json")); err != nil {
		t.Errorf("an interrupted run still reports: %v", err)
	}
}

func TestInterruptLeavesNothing(t *testing.T) {
	needsChromium(t)
	b := build(t)
	s := b.start(t, "--target", "command", "--", b.sidecar)
	dir, inside := labOf(t, s)
	s.interrupted(t)
	if left := lab.StillRunning(inside); len(left) != 0 {
		t.Errorf("left processes: %v", left)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("left %s: %v", dir, err)
	}
}

func TestKilledRunLeavesNoProcess(t *testing.T) {
	needsChromium(t)
	b := build(t)
	s := b.start(t, "--target", "command", "--", b.sidecar)
	dir, inside := labOf(t, s)
	// The next run would remove it.
	defer os.Remove(dir)
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait()
	limit := time.After(10 * time.Second)
	for len(lab.StillRunning(inside)) > 0 {
		select {
		case <-limit:
			t.Fatalf("still running: %v", lab.StillRunning(inside))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestInterruptLeavesNoContainer(t *testing.T) {
	needsImages(t)
	b := build(t)
	s := b.start(t, "--target", "image", "--image", sidecarImage, "--chromium-sandbox", "false")
	if len(containersOf(t, s.Process.Pid)) < 2 {
		t.Error("want a lab and a target by now")
	}
	s.interrupted(t)
	if left := containersOf(t, s.Process.Pid); len(left) != 0 {
		t.Errorf("left containers: %q", left)
	}
}

func TestNextRunRemovesWhatAKilledRunLeft(t *testing.T) {
	needsImages(t)
	b := build(t)
	image := []string{"--target", "image", "--image", sidecarImage, "--chromium-sandbox", "false"}
	killed := b.start(t, image...)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if len(containersOf(t, killed.Process.Pid)) == 0 {
		t.Error("the test expects what a killed runner leaves")
	}
	next := b.start(t, image...)
	if left := containersOf(t, killed.Process.Pid); len(left) != 0 {
		t.Errorf("left containers: %q", left)
	}
	next.interrupted(t)
}
