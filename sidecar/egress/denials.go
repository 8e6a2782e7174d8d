package egress

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A denial is what one log line stands for: never a path or a query.
type denial struct{ host, reason string }

// denials logs refusals: the first of each host and reason at once, repeated ones as a count once a period, and no more
// than a bounded number of hosts in a period, since a page can ask for as many as it likes.
type denials struct {
	log    *slog.Logger
	period time.Duration
	most   int // different denials named in one period

	mu     sync.Mutex
	counts map[denial]int
	others int
}

func newDenials(log *slog.Logger) *denials {
	return &denials{log: log, period: 10 * time.Second, most: 32, counts: map[denial]int{}}
}

// add counts one refusal.
func (d *denials) add(host, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := denial{host, reason}
	count, known := d.counts[key]
	if !known && len(d.counts) >= d.most {
		d.others++
		return
	}
	d.counts[key] = count + 1
	if !known {
		d.line(key, 1)
	}
}

// run reports once a period until ctx ends, and then once more.
func (d *denials) run(ctx context.Context) {
	tick := time.NewTicker(d.period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.report()
		case <-ctx.Done():
			d.report()
			return
		}
	}
}

// report logs how often each denial was repeated, and begins a new period.
func (d *denials) report() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, count := range d.counts {
		if count > 1 {
			d.line(key, count-1)
		}
	}
	if d.others > 0 {
		d.line(denial{"(others)", "too many different hosts to name"}, d.others)
	}
	clear(d.counts)
	d.others = 0
}

func (d *denials) line(key denial, count int) {
	d.log.Warn("egress refused", "host", key.host, "reason", key.reason, "count", count)
}
