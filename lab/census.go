package lab

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/browser-sidecar/conformance/target"
)

// Process is one process of the lab.
type Process struct {
	PID, Parent int
	// Line is its command line, with blanks between the arguments.
	Line string

	started string // in clock ticks after the boot: an id may be given again
}

func (p Process) String() string {
	return fmt.Sprintf("%d (parent %d) %.160s", p.PID, p.Parent, p.Line)
}

// Browser tells Chromium's first process from those that it starts itself: only that one has no type.
func (p Process) Browser() bool {
	return strings.Contains(p.Line, "--user-data-dir=") && !strings.Contains(p.Line, "--type=")
}

// Census is who was there at one moment.
type Census struct {
	lab   *Lab
	known map[Process]bool
}

// Census notes every process of the lab. Whoever comes later belongs to the targets that are started later, whatever its
// parent is by then.
func (l *Lab) Census() Census {
	c := Census{lab: l, known: make(map[Process]bool)}
	for _, p := range processes() {
		c.known[p.identity()] = true
	}
	return c
}

// Newcomers lists the processes that run now and were not there then, without the shared sidecar's and zombies.
func (c Census) Newcomers() []Process {
	var old []int
	if shared := c.lab.current(); shared != nil {
		old = append(target.Descendants(shared.PID), shared.PID)
	}
	return slices.DeleteFunc(processes(), func(p Process) bool {
		return c.known[p.identity()] || slices.Contains(old, p.PID)
	})
}

// Browser finds Chromium's first process among the newcomers.
func (c Census) Browser() (Process, bool) {
	for _, p := range c.Newcomers() {
		if p.Browser() {
			return p, true
		}
	}
	return Process{}, false
}

func (p Process) identity() Process { return Process{PID: p.PID, started: p.started} }

// processes lists what runs in the lab, without zombies.
func processes() []Process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// readProcess is false for a process that is gone or a zombie.
func readProcess(pid int) (Process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, false
	}
	// The name in brackets may hold anything. Behind it: state, parent, …, and the start as field 22 of the whole line.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return Process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return Process{}, false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return Process{}, false
	}
	return Process{
		PID: pid, Parent: parent, Line: strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))), started: fields[19],
	}, true
}
