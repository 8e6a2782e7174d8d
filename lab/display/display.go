// Package display gives the lab a screen that nobody looks at: an X server, and a view of the windows on it.
package display

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/browser-sidecar/conformance/target"
)

// ErrMissing tells that this machine has no X server to start.
var ErrMissing = errors.New("Xvfb is not installed (Debian's package xvfb)") //nolint:staticcheck // a name

// startWithin bounds the server's start.
const startWithin = 15 * time.Second

// basePort is the TCP port of display 0.
const basePort = 6000

// Display is a running X server. It listens on TCP alone, so that a target in a container reaches it as one beside us does.
type Display struct {
	// Name is what DISPLAY must be for a program in the lab.
	Name string

	cmd    *exec.Cmd
	log    *target.Output
	exited chan struct{}
	conn   *xgb.Conn
}

// Start starts an X server without access control: it must run in the lab's own network namespace.
func Start(ctx context.Context) (*Display, error) {
	// The library would tell of each end of a server on standard error.
	xgb.Logger.SetOutput(io.Discard)
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		return nil, ErrMissing
	}
	// The server compiles its keymap into a file that has the number in its name, and labs may share that directory.
	number := 14000 + rand.IntN(5000) //nolint:gosec // no secret
	d := &Display{Name: "127.0.0.1:" + strconv.Itoa(number), log: target.NewOutput(), exited: make(chan struct{})}
	d.cmd = exec.CommandContext(context.WithoutCancel(ctx), path, ":"+strconv.Itoa(number), "-screen", "0", "1600x1200x24",
		"-listen", "tcp", "-nolisten", "unix", "-nolisten", "local", "-ac", "-noreset", "-nolock")
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.WaitDelay = time.Second
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting Xvfb: %w", err)
	}
	go func() {
		defer close(d.exited)
		// How it ended says less than what it printed.
		_ = d.cmd.Wait()
	}()
	if err := d.connect(ctx, basePort+number); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Display) connect(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			d.conn, err = xgb.NewConnNet(conn)
			if err != nil {
				return errors.Join(fmt.Errorf("speaking to Xvfb: %w", err), conn.Close())
			}
			return nil
		}
		select {
		case <-d.exited:
			return fmt.Errorf("Xvfb ended at once: %s", d.log.Tail(5)) //nolint:staticcheck // a name
		case <-ctx.Done():
			return fmt.Errorf("waiting for Xvfb: %w: %s", context.Cause(ctx), d.log.Tail(5))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Close ends the server.
func (d *Display) Close() error {
	if d.conn != nil {
		d.conn.Close()
	}
	if err := d.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending Xvfb: %w", err)
	}
	<-d.exited
	return nil
}

// Window is a window that shows on the screen.
type Window struct {
	Name          string
	Width, Height int
}

func (w Window) String() string { return fmt.Sprintf("%dx%d %q", w.Width, w.Height, w.Name) }

// Windows lists the top-level windows that show.
func (d *Display) Windows() ([]Window, error) {
	root := xproto.Setup(d.conn).DefaultScreen(d.conn).Root
	tree, err := xproto.QueryTree(d.conn, root).Reply()
	if err != nil {
		return nil, fmt.Errorf("listing the windows: %w", err)
	}
	var shown []Window
	for _, id := range tree.Children {
		attributes, err := xproto.GetWindowAttributes(d.conn, id).Reply()
		if err != nil || attributes == nil || attributes.MapState != xproto.MapStateViewable || attributes.Class != xproto.WindowClassInputOutput {
			continue // hidden, or gone meanwhile
		}
		size, err := xproto.GetGeometry(d.conn, xproto.Drawable(id)).Reply()
		if err != nil || size == nil {
			continue
		}
		shown = append(shown, Window{d.title(id), int(size.Width), int(size.Height)})
	}
	return shown, nil
}

// title is what the window calls itself, as far as it does.
func (d *Display) title(id xproto.Window) string {
	const most = 64 // in units of four bytes
	r, err := xproto.GetProperty(d.conn, false, id, xproto.AtomWmName, xproto.GetPropertyTypeAny, 0, most).Reply()
	if err != nil || r == nil {
		return ""
	}
	return string(r.Value)
}
