package lab

import (
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// listenTick is how often the listening sockets are looked at: a sidecar that listens for a moment only must not slip
// through.
const listenTick = time.Millisecond

// ListenWatch notes every TCP socket of the lab that begins to listen, whoever has it.
type ListenWatch struct {
	stop           func()
	stopping, done chan struct{}
	// valid once done is closed
	seen []netip.AddrPort
	err  error
}

// WatchListeners begins to watch; Stop must be called.
func WatchListeners() (*ListenWatch, error) {
	known, err := listening()
	if err != nil {
		return nil, err
	}
	w := &ListenWatch{stopping: make(chan struct{}), done: make(chan struct{})}
	w.stop = sync.OnceFunc(func() { close(w.stopping) })
	go w.watch(known)
	return w, nil
}

func (w *ListenWatch) watch(known map[string]netip.AddrPort) {
	defer close(w.done)
	tick := time.NewTicker(listenTick)
	defer tick.Stop()
	for last := false; ; {
		now, err := listening()
		if err != nil {
			w.err = fmt.Errorf("watching the listening sockets: %w", err)
			return
		}
		for inode, addr := range now {
			if _, ok := known[inode]; !ok {
				known[inode] = addr
				w.seen = append(w.seen, addr)
			}
		}
		if last {
			return
		}
		select {
		case <-tick.C:
		case <-w.stopping:
			last = true
		}
	}
}

// Stop ends the watch, and lists what began to listen meanwhile. It may be called again.
func (w *ListenWatch) Stop() ([]netip.AddrPort, error) {
	w.stop()
	<-w.done
	return w.seen, w.err
}
