package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestDealGivesEveryClauseOnce(t *testing.T) {
	var clauses []string
	for i := range 23 {
		clauses = append(clauses, fmt.Sprintf("section.clause-%d", i))
	}
	for _, n := range []int{-1, 0, 1, 2, 5, 23, 100} {
		hands := deal(clauses, n, func(string) time.Duration { return 0 })
		if want := max(1, min(n, len(clauses))); len(hands) != want {
			t.Errorf("dealing to %d labs: want %d hands, got %d", n, want, len(hands))
		}
		var all []string
		for _, hand := range hands {
			if len(hand) == 0 {
				t.Errorf("dealing to %d labs: a hand is empty", n)
			}
			all = append(all, hand...)
		}
		slices.Sort(all)
		if want := slices.Sorted(slices.Values(clauses)); !slices.Equal(all, want) {
			t.Errorf("dealing to %d labs: want %v, got %v", n, want, all)
		}
	}
}

func TestDealGivesLongestFirst(t *testing.T) {
	seconds := map[string]int{"a": 1, "b": 2, "c": 3, "d": 20, "e": 5, "f": 9}
	hands := deal([]string{"a", "b", "c", "d", "e", "f"}, 2, func(id string) time.Duration {
		return time.Duration(seconds[id]) * time.Second
	})
	if want := [][]string{{"d"}, {"a", "b", "c", "e", "f"}}; !reflect.DeepEqual(hands, want) {
		t.Errorf("want %v, got %v", want, hands)
	}
}

func TestCostsComeFromTheLastRun(t *testing.T) {
	dir := t.TempDir()
	proved := map[string][]string{"a.b": {"one", "two"}, "c.d": {"three"}}
	if last := lastTimes(dir); last != nil {
		t.Errorf("without a report: want no times, got %v", last)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if last := lastTimes(dir); last != nil {
		t.Errorf("with a broken report: want no times, got %v", last)
	}
	cost := costs(map[string]time.Duration{"a.b": 7 * time.Second}, proved)
	if got := cost("a.b"); got != 7*time.Second {
		t.Errorf("a clause of the last run: want 7s, got %s", got)
	}
	if got := cost("c.d"); got != time.Second {
		t.Errorf("a clause that is new: want 1s, got %s", got)
	}
}
