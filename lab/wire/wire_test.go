package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/lab/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers "echo" with its parameters, "hang" never, and keeps the events it gets.
type echo struct {
	mu     sync.Mutex
	events []string
	got    chan struct{}
}

func (e *echo) Call(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "echo":
		return params, nil
	case "hang":
		e.got <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, errors.New("no method " + method)
}

func (e *echo) Event(method string, params json.RawMessage) {
	e.mu.Lock()
	e.events = append(e.events, method+string(params))
	e.mu.Unlock()
	e.got <- struct{}{}
}

// pair connects two sides and returns a function that hangs up and waits for both.
func pair(t *testing.T) (a, b *wire.Conn, handler *echo, hangUp func()) {
	t.Helper()
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	a, b = wire.New(ar, aw), wire.New(br, bw)
	handler = &echo{got: make(chan struct{}, 16)}
	var sides sync.WaitGroup
	for _, side := range []*wire.Conn{a, b} {
		sides.Go(func() {
			if err := side.Serve(t.Context(), handler); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("serving: %v", err)
			}
		})
	}
	return a, b, handler, sync.OnceFunc(func() {
		for _, end := range []io.Closer{aw, bw, ar, br} {
			_ = end.Close()
		}
		sides.Wait()
	})
}

func TestCallsBothWaysAtOnce(t *testing.T) {
	a, b, _, hangUp := pair(t)
	defer hangUp()
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			side := a
			if i%2 == 0 {
				side = b
			}
			var got int
			if err := side.Call(t.Context(), "echo", i, &got); err != nil || got != i {
				t.Errorf("echo %d: got %d, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

func TestErrorsReachTheCaller(t *testing.T) {
	a, _, _, hangUp := pair(t)
	defer hangUp()
	if err := a.Call(t.Context(), "nope", nil, nil); err == nil || err.Error() != "no method nope" {
		t.Errorf("want the peer's error, got %v", err)
	}
}

func TestEventsKeepTheirOrder(t *testing.T) {
	a, _, handler, hangUp := pair(t)
	defer hangUp()
	for i := range 3 {
		if err := a.Notify("event", i); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		<-handler.got
	}
	if got := strings.Join(handler.events, " "); got != "event0 event1 event2" {
		t.Errorf("got %q", got)
	}
}

func TestHangingUpEndsWaitingCalls(t *testing.T) {
	a, _, handler, hangUp := pair(t)
	failed := make(chan error, 1)
	go func() { failed <- a.Call(t.Context(), "hang", nil, nil) }()
	<-handler.got
	hangUp()
	if err := <-failed; err == nil {
		t.Error("want an error from a call whose peer hung up")
	}
	if err := a.Call(t.Context(), "echo", 1, nil); err == nil {
		t.Error("want an error from a call after the end")
	}
}

func TestBrokenMessageEndsTheWire(t *testing.T) {
	c := wire.New(strings.NewReader("{\"id\": nonsense}\n"), io.Discard)
	if err := c.Serve(t.Context(), &echo{}); err == nil {
		t.Error("want an error for a line that isn't JSON")
	}
}
