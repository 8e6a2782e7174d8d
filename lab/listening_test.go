package lab

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestListenWatchSeesWhatBeginsToListen(t *testing.T) {
	listen := func() net.Listener {
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		return ln
	}
	earlier := listen()
	watch, err := WatchListeners()
	if err != nil {
		t.Fatal(err)
	}
	later := listen()
	seen, err := watch.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(seen, netip.MustParseAddrPort(later.Addr().String())) ||
		slices.Contains(seen, netip.MustParseAddrPort(earlier.Addr().String())) {
		t.Errorf("want %s and not %s, got %v", later.Addr(), earlier.Addr(), seen)
	}
}

func TestProgramsShowArgumentsAndEnvironment(t *testing.T) {
	if !inside(t) {
		return
	}
	all, err := Programs()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p Program) bool { return p.PID == os.Getpid() })
	if i < 0 || all[i].Unread != nil || !strings.Contains(all[i].Args, "\x00-test.run=") || !strings.Contains(all[i].Env, insideEnv+"="+t.Name()) {
		t.Errorf("want this process with its arguments and its environment, got number %d of %+v", i, all)
	}
}
