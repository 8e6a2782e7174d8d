package ingest

import (
	"net/http"
	"strconv"
	"time"
)

// Failure is how the ingest treats one post instead of storing and answering it.
type Failure struct {
	// Status is answered; 0 leaves the usual one.
	Status int
	// Header is sent with it.
	Header http.Header
	// Store keeps the events all the same, as when only the answer is lost.
	Store bool
	// Hang answers nothing until the failures are cleared, the sender goes away or the ingest closes.
	Hang bool
	// Reset breaks the connection (RST) instead of answering.
	Reset bool
	// Delay passes before anything is answered.
	Delay time.Duration
}

// Answer fails with a status.
func Answer(status int) Failure { return Failure{Status: status} }

// RetryAfter fails with a status and the seconds that the sender shall wait (RFC 9110 §10.2.3).
func RetryAfter(status int, seconds int) Failure {
	return Failure{Status: status, Header: http.Header{"Retry-After": {strconv.Itoa(seconds)}}}
}

// Redirect fails with a 307, which keeps method and body, to another URL.
func Redirect(to string) Failure {
	return Failure{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {to}}}
}

// Hang never answers.
func Hang() Failure { return Failure{Hang: true} }

// Reset breaks the connection before anything is stored.
func Reset() Failure { return Failure{Reset: true} }

// ResetAfterStoring stores, and breaks the connection before the sender learns of it.
func ResetAfterStoring() Failure { return Failure{Store: true, Reset: true} }

// Slow stores and answers as usual, late.
func Slow(by time.Duration) Failure { return Failure{Store: true, Delay: by} }

// Next makes the coming posts fail, one failure each; those after them are treated as usual.
func (g *Ingest) Next(failures ...Failure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, failures...)
}

// Always makes every post fail that has no failure of its own from [Ingest.Next], until Heal.
func (g *Ingest) Always(f Failure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.always = &f
}

// Heal ends all failures and lets go the posts that hang.
func (g *Ingest) Heal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue, g.always = nil, nil
	close(g.healed)
	g.healed = make(chan struct{})
}

// take is the failure of the next post, if it has one. The caller holds the lock.
func (g *Ingest) take() *Failure {
	if len(g.queue) == 0 {
		return g.always
	}
	f := g.queue[0]
	g.queue = g.queue[1:]
	return &f
}
