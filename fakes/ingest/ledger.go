package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
)

// digest identifies an event, or a list of them, by content.
type digest [sha256.Size]byte

// ledger knows every event and every list of events that came, and in which post.
type ledger struct {
	lists  map[digest]*listed
	events map[digest]*listed // rrweb events only
}

// listed is one list of events that was posted, once or more often.
type listed struct {
	first    int // the first post with it
	stored   bool
	answered bool // stored, and nothing kept the answer from the sender
}

func newLedger() ledger {
	return ledger{lists: make(map[digest]*listed), events: make(map[digest]*listed)}
}

// entered is what the ledger says about a post.
type entered struct {
	faults  []Fault
	retryOf int
	stored  bool // an identical post was stored before
}

// enter compares a post with those before it.
func (l *ledger) enter(p *Post) entered {
	if len(p.Events) == 0 {
		return entered{}
	}
	list, single := digests(p.Events)
	if before := l.lists[list]; before != nil {
		e := entered{retryOf: before.first, stored: before.stored}
		if before.answered {
			e.faults = []Fault{{RuleDuplicate, fmt.Sprintf("the same events as post %d, which was stored and answered", before.first)}}
		}
		return e
	}
	now := &listed{first: p.Seq}
	l.lists[list] = now
	var e entered
	for i, event := range p.Events {
		if event.Kind != KindRRWeb {
			continue
		}
		before := l.events[single[i]]
		switch {
		case before == nil:
			l.events[single[i]] = now
		case before == now || len(e.faults) > 0: // twice in one post is the page's own doing
		case before.stored:
			e.faults = append(e.faults, Fault{RuleDuplicate, fmt.Sprintf("event %d was stored with post %d", i, before.first)})
		default:
			e.faults = append(e.faults, Fault{
				RuleRetry,
				fmt.Sprintf("event %d came in post %d, which failed, and comes again in another list of events", i, before.first),
			})
		}
	}
	return e
}

// settle notes what became of a post.
func (l *ledger) settle(p *Post) {
	if len(p.Events) == 0 {
		return
	}
	list, _ := digests(p.Events)
	known := l.lists[list]
	known.stored = known.stored || p.Stored
	known.answered = known.answered || known.stored && p.Failure == nil && p.Status < 300
}

// digests are those of the whole list and of each event.
func digests(events []Event) (list digest, single []digest) {
	whole := sha256.New()
	single = make([]digest, len(events))
	for i, e := range events {
		var text bytes.Buffer
		text.WriteString(e.Kind + " " + strconv.FormatFloat(e.Timestamp, 'g', -1, 64) + " ")
		if err := json.Compact(&text, e.Data); err != nil {
			text.Write(e.Data) // not JSON: as it is
		}
		single[i] = sha256.Sum256(text.Bytes())
		whole.Write(single[i][:])
	}
	return digest(whole.Sum(nil)), single
}
