package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/target"
)

// TestMain lets the test binary also be a lab's first process, and a runner that a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		goleak.VerifyTestMain(m)
		return
	}
	switch os.Args[1] {
	case "lab-init":
		code, err := lab.Init(os.Args[2], os.Args[3:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 99
		}
		os.Exit(code)
	case "runner":
		if err := runner(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		goleak.VerifyTestMain(m)
	}
}

// runner starts a lab that never ends, says so, and waits to be killed.
func runner(kind string) error {
	var shard *Shard
	var err error
	switch kind {
	case "namespaces":
		shard, err = Namespaces(context.Background(), command("sleep", "600"), os.Stderr)
	case "container":
		shard, err = sleepingLab(context.Background())
		if err == nil {
			_, err = shard.calls(context.Background(), target.MethodStart, startSleep(1))
		}
	}
	if err != nil {
		return err
	}
	fmt.Println("started")
	_, err = shard.Run(context.Background(), nil, func(string, json.RawMessage) {})
	return err
}

// command is an argv for Namespaces that runs args as the shard.
func command(args ...string) func(dir string) []string {
	return func(dir string) []string { return append([]string{"/proc/self/exe", "lab-init", dir}, args...) }
}

// startRunner starts a runner of its own and returns once its lab is there.
func startRunner(t *testing.T, kind string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "runner", kind)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("the runner has not started its lab: %q, %v", line, err)
	}
	return cmd
}

// eventually polls, with a bound.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for !done() {
		select {
		case <-limit:
			t.Fatalf("not within 10s: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestLabEndsWithItsLauncher(t *testing.T) {
	runner := startRunner(t, "namespaces")
	var inside []int
	eventually(t, "the lab's first process and its child", func() bool {
		inside = target.Descendants(runner.Process.Pid)
		return len(inside) == 2
	})
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", inside[0]))
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.Split(string(arguments), "\x00")[2]
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = runner.Wait()
	eventually(t, "the end of every process of the lab", func() bool { return len(lab.StillRunning(inside)) == 0 })

	// Nobody could remove its directory but the next runner.
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the test expects what a killed runner leaves: %v", err)
	}
	next, err := newDirectory("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there after the next start: %v", dir, err)
	}
	if err := next.remove(); err != nil {
		t.Error(err)
	}
}

func TestShardHearsItsOrderAndStopsWhenToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var dir string
	// cat sends everything back until its input ends.
	shard, err := Namespaces(ctx, func(d string) []string { dir = d; return command("cat")(d) }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	code, err := shard.Run(ctx, "go", func(method string, params json.RawMessage) {
		events = append(events, method+string(params))
		cancel()
	})
	if code != 0 || err != nil {
		t.Errorf("got exit code %d, %v", code, err)
	}
	if !slices.Equal(events, []string{`order"go"`}) {
		t.Errorf("got events %q", events)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

func TestShardsExitCodeIsTold(t *testing.T) {
	shard, err := Namespaces(t.Context(), command("sh", "-c", "read order; exit 7"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if code, err := shard.Run(t.Context(), nil, func(string, json.RawMessage) {}); code != 7 || err != nil {
		t.Errorf("got exit code %d, %v", code, err)
	}
}

func TestShardThatSpeaksNonsenseIsEnded(t *testing.T) {
	shard, err := Namespaces(t.Context(), command("sh", "-c", "read order; echo nonsense; exec cat >/dev/null"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	_, err = shard.Run(t.Context(), nil, func(string, json.RawMessage) {})
	if err == nil || !strings.Contains(err.Error(), "reading a message of the wire") {
		t.Errorf("got %v", err)
	}
}

func TestLabThatDoesNotStopIsEndedByForce(t *testing.T) {
	shard, err := Namespaces(t.Context(), command("sleep", "600"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if code, err := shard.end(done); code != -1 || err != nil {
		t.Errorf("want the code of a killed process, got %d, %v", code, err)
	}
}

func TestLabThatCannotStartLeavesNoDirectory(t *testing.T) {
	var dir string
	_, err := Namespaces(t.Context(), func(d string) []string { dir = d; return []string{"/no/such/command"} }, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "/no/such/command") {
		t.Errorf("want an error that names the command, got %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
