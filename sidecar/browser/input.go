package browser

import (
	"context"
	"fmt"
)

// LockInput keeps others from mixing their pointer and keys with the caller's in the tab until unlock is called.
func (p *Page) LockInput(ctx context.Context) (unlock func(), err error) {
	select {
	case p.input <- struct{}{}:
		return func() { <-p.input }, nil
	case <-p.closed:
		return nil, ErrGone
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the tab's pointer: %w", context.Cause(ctx))
	}
}
