package lab

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/browser-sidecar/conformance/target"
)

// Listener is a TCP socket that a process of the target listens on.
type Listener struct {
	Addr netip.AddrPort
	PID  int
}

// Tree lists the sidecar's processes: its own and every descendant.
func (s *Sidecar) Tree() []int { return append([]int{s.PID}, target.Descendants(s.PID)...) }

// Listeners finds the TCP sockets that the sidecar's processes listen on, as /proc shows them.
func (s *Sidecar) Listeners() ([]Listener, error) {
	sockets, err := listening()
	if err != nil {
		return nil, err
	}
	var found []Listener
	for _, pid := range s.Tree() {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			return nil, fmt.Errorf("listing the descriptors of process %d: %w", pid, err)
		}
		for _, fd := range fds {
			link, err := os.Readlink(fd)
			if err != nil {
				continue // closed meanwhile
			}
			inode, ok := strings.CutPrefix(link, "socket:[")
			if !ok {
				continue
			}
			if addr, ok := sockets[strings.TrimSuffix(inode, "]")]; ok {
				found = append(found, Listener{addr, pid})
			}
		}
	}
	return found, nil
}

// listening maps the inode of each listening TCP socket of this network namespace to its address.
func listening() (map[string]netip.AddrPort, error) {
	sockets := make(map[string]netip.AddrPort)
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			return nil, fmt.Errorf("reading the listening sockets: %w", err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			const stateListen = "0A"
			if len(fields) < 10 || fields[3] != stateListen {
				continue
			}
			addr, err := parseSocketAddr(fields[1])
			if err != nil {
				continue // the heading
			}
			sockets[fields[9]] = addr
		}
		err = lines.Err()
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("reading the listening sockets: %w", err)
		}
	}
	return sockets, nil
}

// parseSocketAddr reads an address as /proc/net/tcp prints it: 32-bit words in the machine's (little-endian) order, then
// the port.
func parseSocketAddr(s string) (netip.AddrPort, error) {
	host, port, ok := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	if !ok || err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is no socket address", s)
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no socket address", s)
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no socket address: %w", s, err)
	}
	return netip.AddrPortFrom(addr, uint16(n)), nil
}

// ProcessList describes the processes of the lab for the evidence: id, parent, state and arguments.
func ProcessList() []byte {
	var b strings.Builder
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		args, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "%s\n\t%s\n", strings.TrimSpace(string(stat[:min(len(stat), 60)])), strings.ReplaceAll(string(args), "\x00", " "))
	}
	return []byte(b.String())
}

// PeakMemory is the most memory that the sidecar's own process has had resident, in bytes.
func (s *Sidecar) PeakMemory() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return 0, fmt.Errorf("reading the sidecar's memory: %w", err)
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return 0, fmt.Errorf("the status of process %d has no VmHWM", s.PID)
	}
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(kilobytes)
	if err != nil {
		return 0, fmt.Errorf("reading the sidecar's memory: %w", err)
	}
	return n << 10, nil
}

// Running tells whether a process is there and not a zombie.
func Running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The name in brackets may hold anything.
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(rest, []byte(" Z")) && !bytes.HasPrefix(rest, []byte(" X"))
}

// StillRunning lists those of the processes that are there.
func StillRunning(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !Running(pid) })
}

// ProfileDir is the directory that the sidecar's Chromium was given for its profile, or "".
func (s *Sidecar) ProfileDir() string {
	for _, pid := range s.Tree() {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		for arg := range strings.SplitSeq(string(args), "\x00") {
			if dir, ok := strings.CutPrefix(arg, "--user-data-dir="); ok {
				return dir
			}
		}
	}
	return ""
}
