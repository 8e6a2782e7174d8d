package egress

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// A stream of events may be silent for long, both ways, once it has begun.
func TestAQuietStreamOfEventsStaysOpen(t *testing.T) {
	l := quick()
	r := newRig(t, l, nil)
	quiet := 3 * max(l.patience, l.answer, l.head)
	r.network.route(pubAddr+":80", serveConns(t, func(conn *net.TCPConn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		later := time.NewTimer(quiet)
		defer later.Stop()
		<-later.C
		_, _ = io.WriteString(conn, "data: 2\n\n")
	}))
	c := r.connect(t)
	c.send(t, get("/events"))
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if want := "data: 1\n\ndata: 2\n\n"; err != nil || string(body) != want {
		t.Errorf("got %q, %v; want %q", body, err, want)
	}
	_ = resp.Body.Close()
}
