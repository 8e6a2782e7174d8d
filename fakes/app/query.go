package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// query reads a scripted route's parameters and collects what is wrong with them.
type query struct {
	values url.Values
	faults []error
}

func queryOf(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.faults = append(q.faults, fmt.Errorf("query: %w", err))
	}
	return q
}

// number is a whole number within bounds.
func (q *query) number(name string, fallback, low, high int) int {
	text := q.values.Get(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		q.faults = append(q.faults, fmt.Errorf("%s: %q isn't a whole number from %d to %d", name, text, low, high))
		return fallback
	}
	return n
}

// milliseconds is a duration of at most two minutes.
func (q *query) milliseconds(name string, fallback int) time.Duration {
	return time.Duration(q.number(name, fallback, 0, 120_000)) * time.Millisecond
}

// seed is any unsigned number.
func (q *query) seed(name string) uint64 {
	text := q.values.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		q.faults = append(q.faults, fmt.Errorf("%s: %q isn't a whole number from 0 to 2^64-1", name, text))
	}
	return n
}

// destination is where a redirect leads, exactly as it was given: attacks are in the spelling.
func (q *query) destination() string {
	to := q.values.Get("to")
	if to == "" {
		q.faults = append(q.faults, errors.New("to: is missing, want an address"))
	}
	return to
}

// redirectCode is a status that browsers follow.
func (q *query) redirectCode() int {
	code := q.number("code", http.StatusFound, 300, 399)
	if known := []int{301, 302, 303, 307, 308}; !slices.Contains(known, code) {
		q.faults = append(q.faults, fmt.Errorf("code: %d isn't one of %v", code, known))
	}
	return code
}

// refused answers 400 with every fault, if there is one.
func (q *query) refused(w http.ResponseWriter) bool {
	err := errors.Join(q.faults...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err != nil
}

// wait is false when the client or the server went away first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
