package target

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Descendants lists the processes below pid, as /proc shows them now; without pid itself.
func Descendants(pid int) []int {
	children := make(map[int][]int)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		child, parent, ok := parseStat(stat)
		if ok {
			children[parent] = append(children[parent], child)
		}
	}
	var below []int
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		below = append(below, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return below
}

// parseStat reads the id and the parent's id; the name between them is in brackets and may hold anything.
func parseStat(stat []byte) (pid, parent int, ok bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(stat[:open])))
	if err != nil {
		return 0, 0, false
	}
	rest := bytes.Fields(stat[end+1:])
	if len(rest) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(rest[1]))
	return pid, parent, err == nil
}
