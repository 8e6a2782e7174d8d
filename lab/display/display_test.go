package display

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/jezek/xgb/xproto"
	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"
)

// insideEnv makes the test binary run in a network namespace of its own: the server listens on every interface.
const insideEnv = "CONFORMANCE_DISPLAY_TEST_INSIDE"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWindowsThatShow(t *testing.T) {
	if os.Getenv(insideEnv) == "" {
		if _, err := exec.LookPath("Xvfb"); err != nil && os.Getenv("CI") == "" {
			t.Skip(ErrMissing)
		}
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), insideEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("in a network namespace of its own: %v\n%s", err, out)
		}
		return
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		t.Fatal(err)
	}
	d, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if windows, err := d.Windows(); len(windows) != 0 || err != nil {
		t.Errorf("want an empty screen, got %v, %v", windows, err)
	}
	id, err := xproto.NewWindowId(d.conn)
	if err != nil {
		t.Fatal(err)
	}
	root := xproto.Setup(d.conn).DefaultScreen(d.conn)
	if err := xproto.CreateWindowChecked(d.conn, root.RootDepth, id, root.Root, 0, 0, 640, 480, 0,
		xproto.WindowClassInputOutput, root.RootVisual, 0, nil).Check(); err != nil {
		t.Fatal(err)
	}
	if windows, err := d.Windows(); len(windows) != 0 || err != nil {
		t.Errorf("a window that is not mapped does not show, got %v, %v", windows, err)
	}
	if err := xproto.MapWindowChecked(d.conn, id).Check(); err != nil {
		t.Fatal(err)
	}
	if windows, err := d.Windows(); len(windows) != 1 || windows[0] != (Window{"", 640, 480}) || err != nil {
		t.Errorf("want the window of 640 by 480, got %v, %v", windows, err)
	}
}

func TestNoServerIsNoDisplay(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context()); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
}
