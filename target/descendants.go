package target

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
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

// userNamespace identifies a process's user namespace, also a zombie's; "" where it is gone or may not be looked at.
func userNamespace(pid int) string {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	if err != nil {
		return ""
	}
	return link
}

// holdUserNamespace keeps a process's user namespace, and with it the name that nameOf tells, until the file is closed. It
// is nil where the process is gone or may not be looked at.
func holdUserNamespace(pid int) *os.File {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
	if err != nil {
		return nil
	}
	return f
}

// nameOf is the name of a user namespace that is held; "" for one that isn't, or no longer.
func nameOf(held *os.File) string {
	if held == nil {
		return ""
	}
	info, err := held.Stat()
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("user:[%d]", stat.Ino)
}

// members lists the processes that run in a user namespace, without those in namespaces below it.
func members(namespace string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil || namespace == "" {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || userNamespace(pid) != namespace {
			continue
		}
		// A zombie has no program any more.
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
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
