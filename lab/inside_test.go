package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/fakes/app"
)

// insideEnv makes the test binary run as a process of the lab's own network namespace.
const insideEnv = "CONFORMANCE_LAB_TEST_INSIDE"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inside runs the named test again in new user and network namespaces: attack addresses exist only there.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), insideEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("in the lab's namespace: %v\n%s", err, out)
	}
	return false
}

func TestNetworkIsSealedAndCanariesSeeWhatArrives(t *testing.T) {
	if !inside(t) {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := BringUp(); err != nil {
		t.Fatal(err)
	}
	if err := BringUp(); err != nil {
		t.Errorf("bringing the network up twice: %v", err)
	}
	if err := CheckSeal(ctx); err != nil {
		t.Fatal(err)
	}
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	canaries, err := StartCanaries(ctx, ca.TLS())
	if err != nil {
		t.Fatal(err)
	}
	defer canaries.Close()
	tap, err := OpenTap()
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	if hits := canaries.Hits(); len(hits) != 0 {
		t.Fatalf("the lab's own probes count as hits: %v", hits)
	}

	for _, to := range []string{"10.0.0.5:8000", "169.254.169.254:80", "[fd66::5]:3000", "[fe80::5%lo]:8000", "[64:ff9b::a00:5]:8000"} {
		canaries.Reset()
		conn, err := net.DialTimeout("tcp", to, time.Second)
		if err != nil {
			t.Errorf("connecting to %s: %v", to, err)
			continue
		}
		from := netip.MustParseAddrPort(conn.LocalAddr().String())
		at := netip.MustParseAddrPort(to)
		if err := canaries.Settle(ctx, at); err != nil {
			t.Error(err)
		}
		if hits := canaries.Hits(); len(hits) != 1 {
			t.Errorf("connecting to %s: want one hit, got %v", to, hits)
		}
		if err := waitFor(ctx, func() bool {
			for _, a := range tap.To(int(at.Port())) {
				if a.From.Port() == from.Port() {
					return true
				}
			}
			return false
		}); err != nil {
			t.Errorf("the tap has not seen the connection to %s: %v", to, tap.All())
		}
		_ = conn.Close()
	}
}

func TestDeadSitesAreNoticed(t *testing.T) {
	if !inside(t) {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := BringUp(); err != nil {
		t.Fatal(err)
	}
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSites(ctx, ca.Pool()); err == nil {
		t.Error("want an error where no site listens")
	}
	sites, err := app.Start(ctx, siteListeners(), app.Options{TLS: ca.TLS()})
	if err != nil {
		t.Fatal(err)
	}
	defer sites.Close()
	if err := checkSites(ctx, ca.Pool()); err != nil {
		t.Error(err)
	}
}

func TestBrokenSealIsNoticed(t *testing.T) {
	if !inside(t) {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := BringUp(); err != nil {
		t.Fatal(err)
	}
	way := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "way-out"}}
	if err := netlink.LinkAdd(way); err != nil {
		t.Skipf("needs the kernel's dummy interfaces: %v", err)
	}
	if err := netlink.LinkSetUp(way); err != nil {
		t.Fatal(err)
	}
	if err := CheckSeal(ctx); err == nil || !strings.Contains(err.Error(), "way-out") && !strings.Contains(err.Error(), "leaves the lab") {
		t.Errorf("want an error about the interface that leads out, got %v", err)
	}
	if err := BringUp(); err == nil {
		t.Error("a namespace with another interface must be refused")
	}
}

func waitFor(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting: %w", ctx.Err())
		}
	}
	return nil
}
