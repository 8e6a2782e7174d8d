package main

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browser-sidecar/conformance/report"
)

// labMemory is what one lab may need: the suite, the fakes, and a few sidecars with a Chromium each.
const labMemory = 3 << 30

// fittingLabs is how many labs this machine can run side by side without one disturbing the other's timing.
func fittingLabs() int {
	n := runtime.NumCPU()
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		n = min(n, int(info.Totalram*uint64(info.Unit)/labMemory)) //nolint:gosec // a few hundred at most
	}
	return max(1, n)
}

// deal splits clauses among at most n labs so that all end at about the same time: the longest first, each to the lab that
// has least to do. Each hand keeps the order of the clauses, and none is empty.
func deal(clauses []string, n int, cost func(id string) time.Duration) [][]string {
	n = max(1, min(n, len(clauses)))
	longest := slices.Clone(clauses)
	slices.SortStableFunc(longest, func(a, b string) int { return cmp.Compare(cost(b), cost(a)) })
	loads := make([]time.Duration, n)
	owner := make(map[string]int, len(clauses))
	for i, id := range longest {
		least := i // the first ones to a lab each: a clause that is said to cost nothing must not leave a hand empty
		if i >= n {
			least = slices.Index(loads, slices.Min(loads))
		}
		loads[least] += cost(id)
		owner[id] = least
	}
	hands := make([][]string, n)
	for _, id := range clauses {
		hands[owner[id]] = append(hands[owner[id]], id)
	}
	return hands
}

// costs tells how long a clause takes: as in the last run with the same --out, else a second for each of its specs.
func costs(last map[string]time.Duration, proved map[string][]string) func(id string) time.Duration {
	return func(id string) time.Duration {
		if took, ok := last[id]; ok {
			return took
		}
		return time.Duration(len(proved[id])) * time.Second
	}
}

// lastTimes are the durations of the clauses in the report that an earlier run left in dir; none where there is no such
// report, or one of another time.
func lastTimes(dir string) map[string]time.Duration {
	f, err := os.Open(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil
	}
	defer f.Close()
	r, err := report.ReadJSON(f)
	if err != nil {
		return nil
	}
	times := make(map[string]time.Duration)
	for _, c := range r.Clauses {
		if c.Executed() {
			times[c.ID] = time.Duration(c.Duration)
		}
	}
	return times
}
