package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	pong = `{"jsonrpc":"2.0","id":1,"result":{}}`
)

// tick lets time pass, so that what follows is later.
func tick() { <-time.After(time.Second) }

func (r *rig) unknown(session string) {
	r.t.Helper()
	r.want(r.post(session, ping), http.StatusNotFound, failure("1", "-32001", "Session not found"))
}

func (r *rig) known(session string) {
	r.t.Helper()
	r.want(r.post(session, ping), http.StatusOK, pong)
}

func TestDelete(t *testing.T) {
	r := start(t)
	id, other := r.open(), r.open()
	r.want(r.send(t.Context(), http.MethodDelete, "", ""), http.StatusNotFound, `{"error":"Session not found"}`)
	r.want(r.send(t.Context(), http.MethodDelete, "made-up", ""), http.StatusNotFound, `{"error":"Session not found"}`)
	r.want(r.send(t.Context(), http.MethodDelete, id, "", sessionHeader, other), http.StatusNotFound, `{"error":"Session not found"}`)
	r.known(id)
	r.want(r.send(t.Context(), http.MethodDelete, id, ""), http.StatusOK, `{"closed":true}`)
	r.unknown(id)
	r.want(r.send(t.Context(), http.MethodDelete, id, ""), http.StatusNotFound, `{"error":"Session not found"}`)
	r.known(other)
}

func TestDeleteEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		id, other := r.open(), r.open()
		mine, theirs := r.launch(t.Context(), id, toolCall("1", "wait")), r.launch(t.Context(), other, toolCall("1", "wait"))
		synctest.Wait()
		r.want(r.send(t.Context(), http.MethodDelete, id, ""), http.StatusOK, `{"closed":true}`)
		r.want(<-mine, http.StatusOK, failure("1", "-32000", "The session closed"))
		synctest.Wait()
		r.pending(theirs)
		r.want(r.send(t.Context(), http.MethodDelete, other, ""), http.StatusOK, `{"closed":true}`)
		r.want(<-theirs, http.StatusOK, failure("1", "-32000", "The session closed"))
	})
}

// A session may end between a call's arrival and its start.
func TestCallIntoAnEndingSession(t *testing.T) {
	r := start(t)
	session := r.open()
	s, fault := r.sessions.enter(session)
	if fault != nil {
		t.Fatal(fault)
	}
	defer r.sessions.leave(s)
	r.want(r.send(t.Context(), http.MethodDelete, session, ""), http.StatusOK, `{"closed":true}`)
	m, fault := parse([]byte(toolCall("1", "echo")))
	if fault != nil {
		t.Fatal(fault)
	}
	if _, fault := r.answer(t.Context(), s, m); fault != errClosed || len(r.ran) != 0 {
		t.Errorf("got %v, and ran %q", fault, r.ran)
	}
}

// The ninth session takes the place of the one that was used least recently, the end of a call counting as use.
func TestNinthSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var ids []string
		for range 8 {
			ids = append(ids, r.open())
			tick()
		}
		busy := r.launch(t.Context(), ids[0], toolCall("1", "wait"))
		synctest.Wait()
		for _, i := range []int{2, 3, 4, 5, 6, 7, 1} {
			tick()
			r.known(ids[i])
		}
		tick()
		r.open() // 0 was used least recently, but it is busy
		r.unknown(ids[2])
		tick()
		r.call(0).release <- Result{Content: words("late")}
		r.want(<-busy, http.StatusOK, said("1", "late"))
		tick()
		r.open()
		r.unknown(ids[3])
		for _, i := range []int{0, 1, 4, 5, 6, 7} {
			r.known(ids[i])
		}
	})
}

func TestAllSessionsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var answers []<-chan reply
		for range 8 {
			answers = append(answers, r.launch(t.Context(), r.open(), toolCall("1", "wait")))
		}
		synctest.Wait()
		tick()
		got := r.post("", hello)
		r.want(got, http.StatusServiceUnavailable, failure("0", "-32000", "Too many sessions are busy; try again shortly"))
		if got.session != "" {
			t.Errorf("it got the session %q", got.session)
		}
		for _, a := range answers {
			r.pending(a)
		}
		r.call(0).release <- Result{Content: words("x")}
		synctest.Wait()
		r.open()
		for i := range answers[1:] {
			r.call(i + 1).release <- Result{Content: words("x")}
		}
		for _, a := range answers {
			r.want(<-a, http.StatusOK, said("1", "x"))
		}
	})
}

// unread is a client that doesn't read its answer.
type unread struct {
	http.ResponseWriter
	gone chan struct{}
}

func (u unread) Write(b []byte) (int, error) {
	<-u.gone
	return len(b), nil
}

// A session whose client doesn't read is not busy: eight of them leave room for a ninth.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		gone := make(chan struct{})
		for range maxSessions {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(toolCall("1", "echo")))
			req.Header.Set(sessionHeader, r.open())
			go r.ServeHTTP(unread{httptest.NewRecorder(), gone}, req)
		}
		synctest.Wait()
		r.open()
		close(gone)
	})
}

func TestIdleSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		id := r.open()
		for _, silence := range []time.Duration{20 * time.Second, 70 * time.Second, 10 * time.Minute, 59 * time.Minute} {
			<-time.After(silence)
			r.known(id)
		}
		<-time.After(maxIdle)
		r.known(id)
		<-time.After(maxIdle + 1)
		r.unknown(id)
		r.open()
		if r.opened[0].closed != 1 {
			t.Error("its tools were not closed")
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		id := r.open()
		r.open()
		first, second := r.launch(t.Context(), id, toolCall("1", "wait")), r.launch(t.Context(), id, toolCall("2", "wait"))
		synctest.Wait()
		begun := time.Now()
		for range 2 {
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r.want(<-first, http.StatusOK, failure("1", "-32000", "The browser is stopping"))
		r.want(<-second, http.StatusOK, failure("2", "-32000", "The browser is stopping"))
		if took := time.Since(begun); took != 0 {
			t.Errorf("it took %s", took)
		}
		r.want(r.post(id, ping), http.StatusServiceUnavailable, failure("1", "-32000", "The browser is stopping"))
		r.want(r.post("", hello), http.StatusServiceUnavailable, failure("0", "-32000", "The browser is stopping"))
		r.want(r.send(t.Context(), http.MethodDelete, id, ""), http.StatusNotFound, `{"error":"Session not found"}`)
	})
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		answer := r.launch(t.Context(), r.open(), toolCall("1", "stubborn"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(ctx); err == nil || err.Error() != "waiting for calls: context deadline exceeded" {
			t.Errorf("closing with a tool that goes on: %v", err)
		}
		r.want(<-answer, http.StatusOK, failure("1", "-32000", "The browser is stopping"))
		r.call(0).release <- Result{}
		synctest.Wait()
		r.opened[0].closed++ // left open, since its tool might still use it
	})
}
