package dashboard

import (
	"context"
	"fmt"
	"slices"
)

// Transcript is everything that was sent and received so far, in order.
func (v *Viewer) Transcript() []Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.transcript.messages)
}

// Mark is the sequence number of the last message so far, for [Viewer.WaitAfter].
func (v *Viewer) Mark() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.transcript.messages)
}

// WaitFor is the first message of the connection that matches, which may have come long ago. It fails when the connection
// ends before, or ctx does.
func (v *Viewer) WaitFor(ctx context.Context, match func(Message) bool) (Message, error) {
	return v.WaitAfter(ctx, 0, match)
}

// WaitAfter is the first message after a mark that matches.
func (v *Viewer) WaitAfter(ctx context.Context, mark int, match func(Message) bool) (Message, error) {
	next := mark
	for {
		// Read in this order: what came before the end is seen before the end is.
		ended := isClosed(v.ended)
		v.mu.Lock()
		fresh := slices.Clone(v.transcript.messages[min(next, len(v.transcript.messages)):])
		changed, closing := v.changed, v.closing
		v.mu.Unlock()
		for _, m := range fresh {
			if match(m) {
				return m, nil
			}
		}
		next += len(fresh)
		if ended {
			return Message{}, fmt.Errorf("waiting for a message of the live view: the connection ended after %d messages: %w",
				next, closing.Err)
		}
		select {
		case <-changed:
		case <-v.ended:
		case <-ctx.Done():
			return Message{}, fmt.Errorf("waiting for a message of the live view: %d messages came, none of them: %w",
				next-mark, context.Cause(ctx))
		}
	}
}

// Closed waits for the connection's end and says how it ended.
func (v *Viewer) Closed(ctx context.Context) (Closing, error) {
	select {
	case <-v.ended:
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.closing, nil
	case <-ctx.Done():
		return Closing{}, fmt.Errorf("waiting for the live view to close: %w", context.Cause(ctx))
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
