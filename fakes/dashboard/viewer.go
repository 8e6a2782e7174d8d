package dashboard

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// DefaultReadLimit bounds one received message: a large page's frame in base64 stays far below.
const DefaultReadLimit = 32 << 20

// Options shape a viewer's connection.
type Options struct {
	// Origin is sent as the Origin header; none when empty. To send an empty one, set it in Header.
	Origin string
	// Host is sent instead of the URL's.
	Host string
	// Header is sent besides.
	Header http.Header
	// TLS is for wss URLs; nil is Go's own default.
	TLS *tls.Config
	// ReadLimit bounds one received message in bytes; DefaultReadLimit when zero.
	ReadLimit int64
	// Paused opens the connection without reading from it, until Resume.
	Paused bool
}

// HandshakeError is the answer of a server that did not open the WebSocket.
type HandshakeError struct {
	// Status is the HTTP status; 0 when there was no HTTP answer.
	Status int
	Header http.Header
	Body   string
	Err    error
}

func (e *HandshakeError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("opening the live view: %v", e.Err)
	}
	return fmt.Sprintf("opening the live view: answered %d %s: %q", e.Status, http.StatusText(e.Status), e.Body)
}

func (e *HandshakeError) Unwrap() error { return e.Err }

// Closing is how a connection ended.
type Closing struct {
	// Code is the close code that came; 0 when the connection ended without one.
	Code int
	// Reason is the close reason that came.
	Reason string
	// Err is the read error with which it ended.
	Err error
	At  time.Time
}

// Viewer is one open connection to /live. It keeps everything that goes over it. Its methods may be used at once.
type Viewer struct {
	conn      *websocket.Conn
	transport *http.Transport
	cancel    context.CancelFunc
	ended     chan struct{} // closed when reading has ended

	mu         sync.Mutex
	transcript transcript
	changed    chan struct{} // closed, and made anew, with each message
	gate       chan struct{} // closed while reading is allowed
	closing    Closing
}

// Dial opens a viewer's connection to a ws or wss URL ("…/live"). It follows no redirect and uses no proxy; ctx bounds the
// handshake only. A refusal is a [*HandshakeError].
func Dial(ctx context.Context, url string, o Options) (*Viewer, error) {
	header := o.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if o.Origin != "" {
		header.Set("Origin", o.Origin)
	}
	transport := &http.Transport{TLSClientConfig: o.TLS, DisableKeepAlives: true}
	conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the library says: never needed
		HTTPClient: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader: header,
		Host:       o.Host,
	})
	if err != nil {
		transport.CloseIdleConnections()
		return nil, refusal(response, err)
	}
	if o.ReadLimit == 0 {
		o.ReadLimit = DefaultReadLimit
	}
	conn.SetReadLimit(o.ReadLimit)
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	v := &Viewer{
		conn: conn, transport: transport, cancel: cancel,
		ended: make(chan struct{}), changed: make(chan struct{}), gate: make(chan struct{}),
	}
	if !o.Paused {
		close(v.gate)
	}
	go v.read(reading)
	return v, nil
}

func refusal(response *http.Response, err error) error {
	e := &HandshakeError{Err: err}
	if response != nil {
		e.Status, e.Header = response.StatusCode, response.Header
		if response.Body != nil {
			text, _ := io.ReadAll(response.Body) // at most 1024 bytes are kept by the library
			e.Body = string(text)
		}
	}
	return e
}

// read keeps what comes until the connection ends.
func (v *Viewer) read(ctx context.Context) {
	defer close(v.ended)
	err := v.receive(ctx)
	closing := Closing{Err: err, At: time.Now()}
	var frame websocket.CloseError
	if errors.As(err, &frame) {
		closing.Code, closing.Reason = int(frame.Code), frame.Reason
	}
	v.mu.Lock()
	v.closing = closing
	v.mu.Unlock()
	_ = v.conn.CloseNow() // it has ended: nothing else can be wrong
}

func (v *Viewer) receive(ctx context.Context) error {
	for {
		v.mu.Lock()
		gate := v.gate
		v.mu.Unlock()
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
		kind, text, err := v.conn.Read(ctx)
		if err != nil {
			return err
		}
		if err := v.keep(Received, kind, text); err != nil {
			return err
		}
	}
}

func (v *Viewer) keep(d Direction, kind websocket.MessageType, text []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := Message{At: time.Now(), Direction: d, Binary: kind == websocket.MessageBinary, Text: slices.Clone(text)}
	err := v.transcript.add(m)
	close(v.changed)
	v.changed = make(chan struct{})
	return err
}

// Pause stops reading after the message that is on its way: the sidecar then meets a viewer that doesn't read, and that
// answers no ping and no close.
func (v *Viewer) Pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.gate:
		v.gate = make(chan struct{})
	default: // paused already
	}
}

// Resume reads on.
func (v *Viewer) Resume() {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.gate:
	default:
		close(v.gate)
	}
}

// Auth shows a ticket, which must be the first message.
func (v *Viewer) Auth(ctx context.Context, ticket string) error {
	return v.Send(ctx, map[string]string{"type": "auth", "ticket": ticket})
}

// Send sends a value as JSON in a text message.
func (v *Viewer) Send(ctx context.Context, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("sending to the live view: %w", err)
	}
	return v.send(ctx, websocket.MessageText, text)
}

// SendText sends any text, which need not be JSON.
func (v *Viewer) SendText(ctx context.Context, text string) error {
	return v.send(ctx, websocket.MessageText, []byte(text))
}

// SendBinary sends a binary message.
func (v *Viewer) SendBinary(ctx context.Context, data []byte) error {
	return v.send(ctx, websocket.MessageBinary, data)
}

// Ping sends a ping and waits for its pong.
func (v *Viewer) Ping(ctx context.Context) error {
	if err := v.conn.Ping(ctx); err != nil {
		return fmt.Errorf("pinging the live view: %w", err)
	}
	return nil
}

// send keeps the message before it goes out, so that its answer can't come before it in the transcript.
func (v *Viewer) send(ctx context.Context, kind websocket.MessageType, text []byte) error {
	if err := v.keep(Sent, kind, text); err != nil {
		return fmt.Errorf("sending to the live view: %w", err)
	}
	if err := v.conn.Write(ctx, kind, text); err != nil {
		return fmt.Errorf("sending to the live view: %w", err)
	}
	return nil
}

// Close says goodbye (1000) and waits until nothing runs any more; the transcript stays readable. A viewer that is
// paused, or that has ended, is just dropped.
func (v *Viewer) Close() {
	v.mu.Lock()
	reading := true
	select {
	case <-v.gate:
	default:
		reading = false
	}
	v.mu.Unlock()
	if reading {
		_ = v.conn.Close(websocket.StatusNormalClosure, "") // the peer may have ended it already
	}
	v.Drop()
}

// Drop ends the connection without a word, as a lost network does, and waits until nothing runs any more.
func (v *Viewer) Drop() {
	_ = v.conn.CloseNow()
	v.cancel()
	<-v.ended
	v.transport.CloseIdleConnections()
}
