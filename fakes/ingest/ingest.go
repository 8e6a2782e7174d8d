package ingest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The bounds of a batch where options set none (contract, recording.batches).
const (
	DefaultMaxEvents = 1000
	DefaultMaxBytes  = 1 << 20
)

// maxTotal bounds what one recording may hold, inflated, so that a target can't exhaust the suite's memory.
const maxTotal = 512 << 20

// DefaultPath is where posts are taken.
const DefaultPath = "/events"

// Options say what the ingest asks of a post.
type Options struct {
	// Token is the recording's bearer token.
	Token string
	// Path is where posts are taken; a query is kept and not looked at. DefaultPath when empty.
	Path string
	// MaxEvents and MaxBytes (inflated) bound one post; the defaults when zero.
	MaxEvents int
	MaxBytes  int
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Post is one request that the ingest got, whatever became of it.
type Post struct {
	// Seq counts from 1, in the order in which posts were read to their end.
	Seq int
	// At is when its head arrived.
	At     time.Time
	Method string
	// Target is path and query as sent.
	Target string
	Header http.Header
	// WireBytes is the body's size as it came; Text is the body, inflated as far as the bound lets it.
	WireBytes int
	Text      []byte
	Body
	// Failure is what the ingest was told to do to this post; nil for none.
	Failure *Failure
	// Status is the answer's; 0 when none was given.
	Status int
	// Stored is true when its events are in Events. An identical repetition of a stored post is not stored again.
	Stored bool
	// RetryOf is the first post that carried exactly these events in this order; 0 when this is it.
	RetryOf int
}

// Ingest takes posts as an [http.Handler]. Its methods may be used at once.
type Ingest struct {
	o Options

	mu         sync.Mutex
	queue      []Failure
	always     *Failure
	healed     chan struct{} // closed, and made anew, by Heal
	changed    chan struct{} // closed, and made anew, when a post was added
	posts      []Post
	events     []Event
	violations []Violation
	total      int
	ledger     ledger
}

// New makes an ingest that takes posts by the given options.
func New(o Options) *Ingest {
	if o.Path == "" {
		o.Path = DefaultPath
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = DefaultMaxEvents
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Ingest{
		o:       o,
		healed:  make(chan struct{}),
		changed: make(chan struct{}),
		ledger:  newLedger(),
	}
}

// Reset forgets everything that came, and ends all failures.
func (g *Ingest) Reset() {
	g.Heal()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.posts, g.events, g.violations, g.total, g.ledger = nil, nil, nil, 0, newLedger()
}

// Posts are all requests so far, refused and failed ones too.
func (g *Ingest) Posts() []Post {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.posts)
}

// Batches are the posts that were stored.
func (g *Ingest) Batches() []Post {
	return slices.DeleteFunc(g.Posts(), func(p Post) bool { return !p.Stored })
}

// Events are the events of all stored posts, in the order of storing.
func (g *Ingest) Events() []Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.events)
}

// Violations are the faults of all posts so far.
func (g *Ingest) Violations() []Violation {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.violations)
}

// Wait blocks until match accepts the stored events, which it is asked anew after each post. The error says how much had
// come when the context ended.
func (g *Ingest) Wait(ctx context.Context, match func([]Event) bool) error {
	return g.wait(ctx, func() bool { return match(g.Events()) })
}

// WaitPosts is [Ingest.Wait] on all posts, those that failed too.
func (g *Ingest) WaitPosts(ctx context.Context, match func([]Post) bool) error {
	return g.wait(ctx, func() bool { return match(g.Posts()) })
}

func (g *Ingest) wait(ctx context.Context, done func() bool) error {
	for {
		g.mu.Lock()
		changed := g.changed
		g.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			return fmt.Errorf("waiting for the recording: %d posts with %d stored events came: %w",
				len(g.posts), len(g.events), context.Cause(ctx))
		}
	}
}

// record adds a post with its faults, decides what becomes of it, and tells who waits.
func (g *Ingest) record(p Post, faults []Fault, refusal int) Post {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.Seq = len(g.posts) + 1
	for i := range p.Events {
		p.Events[i].Post = p.Seq
	}
	if refusal == 0 && g.total+len(p.Text) > maxTotal {
		refusal = http.StatusRequestEntityTooLarge
		faults = append(faults, Fault{RuleLimit, fmt.Sprintf("the recording is over %d bytes", maxTotal)})
	}
	p.Failure = g.take()
	p.Status = refusal
	if refusal == 0 {
		p.Status = http.StatusCreated
	}
	if f := p.Failure; f != nil {
		if f.Status != 0 {
			p.Status = f.Status
		}
		if f.Hang || f.Reset {
			p.Status = 0
		}
	}
	entry := g.ledger.enter(&p)
	faults = append(faults, entry.faults...)
	p.RetryOf = entry.retryOf
	p.Stored = refusal == 0 && !entry.stored && (p.Failure == nil || p.Failure.Store)
	g.ledger.settle(&p)

	g.total += len(p.Text)
	g.posts = append(g.posts, p)
	if p.Stored {
		g.events = append(g.events, p.Events...)
	}
	for _, f := range faults {
		g.violations = append(g.violations, Violation{At: p.At, Post: p.Seq, Rule: f.Rule, Detail: f.Detail})
	}
	close(g.changed)
	g.changed = make(chan struct{})
	return p
}
