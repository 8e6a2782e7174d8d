package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStopIsBoundedThoughEveryStepHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Sidecar{log: slog.New(slog.DiscardHandler)}
		var ended []int
		for i := range 6 {
			s.did("step", 5*time.Second, func(ctx context.Context) error {
				<-ctx.Done()
				ended = append(ended, i)
				return context.Cause(ctx)
			})
		}
		began := time.Now()
		err := s.Stop(t.Context(), "a test")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if !slices.Equal(ended, []int{5, 4, 3, 2, 1, 0}) {
			t.Errorf("ended %v", ended)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
