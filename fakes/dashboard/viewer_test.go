package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/fakes/dashboard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// live is a tiny live view: it lets in whoever shows a ticket that check accepts, and then does what the test says.
func live(t *testing.T, serve func(ctx context.Context, c *websocket.Conn)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "http://dashboard.test" || r.URL.ForceQuery || r.URL.RawQuery != "" {
			http.Error(w, "Origin or query not allowed", http.StatusForbidden)
			return
		}
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		serve(r.Context(), c)
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http") + "/live"
}

// admit is the first step of a live view.
func admit(ctx context.Context, c *websocket.Conn) bool {
	_, text, err := c.Read(ctx)
	if err != nil {
		return false
	}
	ticket, _, _ := strings.Cut(strings.TrimPrefix(string(text), `{"ticket":"`), `"`)
	if err := check(ticket); err != nil {
		_ = c.Close(4401, err.Error())
		return false
	}
	return c.Write(ctx, websocket.MessageText, []byte(`{"type":"ready","control":{"held":false}}`)) == nil
}

func dial(t *testing.T, url string, o dashboard.Options) *dashboard.Viewer {
	t.Helper()
	o.Origin = "http://dashboard.test"
	v, err := dashboard.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestViewer(t *testing.T) {
	url := live(t, func(ctx context.Context, c *websocket.Conn) {
		for admitted := admit(ctx, c); admitted; {
			kind, text, err := c.Read(ctx)
			if err != nil || c.Write(ctx, kind, append([]byte(`{"type":"echo","of":`), append(text, '}')...)) != nil {
				return
			}
		}
	})
	ctx := within(t)
	v := dial(t, url, dashboard.Options{})
	if err := v.Auth(ctx, issuer().Ticket(dashboard.View, user)); err != nil {
		t.Fatal(err)
	}
	ready, err := v.WaitFor(ctx, dashboard.IsType("ready"))
	if err != nil {
		t.Fatal(err)
	}
	var control struct {
		Control struct{ Held bool } `json:"control"`
	}
	if err := ready.Decode(&control); err != nil || ready.At.IsZero() || ready.Seq != 2 {
		t.Errorf("ready %+v, %v", ready, err)
	}
	mark := v.Mark()
	if err := v.SendText(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	if err := v.Send(ctx, map[string]any{"type": "hand_back"}); err != nil {
		t.Fatal(err)
	}
	second, err := v.WaitAfter(ctx, mark, func(m dashboard.Message) bool {
		return m.Type == "echo" && strings.Contains(string(m.Text), "hand_back")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Ping(ctx); err != nil {
		t.Error(err)
	}
	var got []string
	for _, m := range v.Transcript()[:second.Seq] {
		got = append(got, string(m.Direction[0])+":"+m.Type)
	}
	// Sending and receiving run side by side: only each direction has an order of its own.
	for _, want := range []string{"s:auth r:ready", "s:hand_back"} {
		if !strings.Contains(strings.Join(got, " "), want) {
			t.Errorf("transcript %v lacks %q", got, want)
		}
	}
}

func TestRefusedTicket(t *testing.T) {
	url := live(t, func(ctx context.Context, c *websocket.Conn) { admit(ctx, c) })
	ctx := within(t)
	v := dial(t, url, dashboard.Options{})
	if err := v.Auth(ctx, issuer().OtherSandboxes(user)[0].Make()); err != nil {
		t.Fatal(err)
	}
	closing, err := v.Closed(ctx)
	if err != nil || closing.Code != 4401 || closing.Reason != "sandbox" || closing.At.IsZero() {
		t.Errorf("closing %+v, %v", closing, err)
	}
	_, err = v.WaitFor(ctx, dashboard.IsType("ready"))
	var frame websocket.CloseError
	if !errors.As(err, &frame) || frame.Code != 4401 {
		t.Errorf("waiting on: got %v", err)
	}
	if err := v.SendText(ctx, "x"); err == nil {
		t.Error("sending on: want an error")
	}
}

func TestRefusedHandshake(t *testing.T) {
	url := live(t, func(context.Context, *websocket.Conn) {})
	for name, dial := range map[string]func() (*dashboard.Viewer, error){
		"no origin": func() (*dashboard.Viewer, error) { return dashboard.Dial(within(t), url, dashboard.Options{}) },
		"an empty origin": func() (*dashboard.Viewer, error) {
			return dashboard.Dial(within(t), url, dashboard.Options{Header: http.Header{"Origin": {""}}})
		},
		"a bare question mark": func() (*dashboard.Viewer, error) {
			return dashboard.Dial(within(t), url+"?", dashboard.Options{Origin: "http://dashboard.test"})
		},
	} {
		_, err := dial()
		var refused *dashboard.HandshakeError
		if !errors.As(err, &refused) || refused.Status != 403 || !strings.Contains(refused.Body, "not allowed") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := dashboard.Dial(within(t), "ws://127.0.0.1:1/live", dashboard.Options{})
	var refused *dashboard.HandshakeError
	if !errors.As(err, &refused) || refused.Status != 0 || !strings.Contains(err.Error(), "opening the live view") {
		t.Errorf("a closed port: got %v", err)
	}
}

func TestLostConnection(t *testing.T) {
	url := live(t, func(_ context.Context, c *websocket.Conn) { _ = c.CloseNow() })
	closing, err := dial(t, url, dashboard.Options{}).Closed(within(t))
	if err != nil || closing.Code != 0 || closing.Err == nil {
		t.Errorf("closing %+v, %v", closing, err)
	}
}

func TestViewerLeaves(t *testing.T) {
	for _, row := range []struct {
		name  string
		leave func(*dashboard.Viewer)
		want  websocket.StatusCode
	}{
		{"with a goodbye", (*dashboard.Viewer).Close, websocket.StatusNormalClosure},
		{"without a word", (*dashboard.Viewer).Drop, -1},
	} {
		left := make(chan websocket.StatusCode, 1)
		url := live(t, func(ctx context.Context, c *websocket.Conn) {
			_, _, err := c.Read(ctx)
			left <- websocket.CloseStatus(err)
		})
		v := dial(t, url, dashboard.Options{})
		row.leave(v)
		if got := <-left; got != row.want {
			t.Errorf("%s: the server saw %d, want %d", row.name, got, row.want)
		}
		v.Close() // once more does no harm
	}
}

func TestPausedViewerDoesNotRead(t *testing.T) {
	written := make(chan error, 1)
	url := live(t, func(ctx context.Context, c *websocket.Conn) {
		// Far more than the sockets' buffers hold: it ends only when the viewer reads.
		big := []byte(`{"type":"frame","data":"` + strings.Repeat("x", 16<<20) + `"}`)
		written <- c.Write(ctx, websocket.MessageText, big)
		_, _, _ = c.Read(ctx)
	})
	v := dial(t, url, dashboard.Options{Paused: true})
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := v.WaitFor(short, dashboard.IsType("frame")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused viewer: got %v", err)
	}
	select {
	case err := <-written:
		t.Fatalf("all was taken from the server by a paused viewer: %v", err)
	default:
	}
	v.Pause() // again
	v.Resume()
	v.Resume()
	if _, err := v.WaitFor(within(t), dashboard.IsType("frame")); err != nil {
		t.Error(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	v.Pause()
}

func TestOldFramesLoseTheirText(t *testing.T) {
	const frames = 40
	url := live(t, func(ctx context.Context, c *websocket.Conn) {
		for i := range frames {
			_ = c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"frame","data":"%d"}`, i))
		}
		_ = c.Write(ctx, websocket.MessageText, []byte(`{"type":"page"}`))
		_ = c.Write(ctx, websocket.MessageBinary, []byte(`{"type":"frame"}`))
		_, _, _ = c.Read(ctx)
	})
	v := dial(t, url, dashboard.Options{})
	if _, err := v.WaitFor(within(t), func(m dashboard.Message) bool { return m.Binary }); err != nil {
		t.Fatal(err)
	}
	with := 0
	messages := v.Transcript()
	for _, m := range messages {
		if m.Type == "frame" && m.Text != nil {
			with++
		}
	}
	if with != 32 || messages[0].Text != nil || messages[frames].Text == nil || messages[frames+1].Type != "" {
		t.Errorf("%d of %d frames have their text", with, frames)
	}
}

func TestReadLimit(t *testing.T) {
	url := live(t, func(ctx context.Context, c *websocket.Conn) {
		_ = c.Write(ctx, websocket.MessageText, []byte(strings.Repeat("x", 2000)))
		_, _, _ = c.Read(ctx)
	})
	closing, err := dial(t, url, dashboard.Options{ReadLimit: 1000}).Closed(within(t))
	if err != nil || !errors.Is(closing.Err, websocket.ErrMessageTooBig) {
		t.Errorf("closing %+v, %v", closing, err)
	}
}

func TestFollowsNoRedirect(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached = true
		_, _ = io.WriteString(w, "here")
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	_, err := dashboard.Dial(within(t), server.URL, dashboard.Options{})
	var refused *dashboard.HandshakeError
	if !errors.As(err, &refused) || refused.Status != http.StatusTemporaryRedirect || reached {
		t.Errorf("got %v, reached: %t", err, reached)
	}
}
