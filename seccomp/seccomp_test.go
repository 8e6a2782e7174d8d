package seccomp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

type profile struct {
	DefaultAction string `json:"defaultAction"`
	Syscalls      []rule `json:"syscalls"`
}

type rule struct {
	Names  []string `json:"names"`
	Action string   `json:"action"`
	Args   []arg    `json:"args"`
}

type arg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo"`
	Op       string `json:"op"`
}

const (
	allow  = "SCMP_ACT_ALLOW"
	refuse = "SCMP_ACT_ERRNO"
)

func read(t *testing.T) profile {
	t.Helper()
	option, err := SecurityOption()
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(option, "seccomp=")
	if !ok {
		t.Fatalf("the option starts with %.20q, not with seccomp=", option)
	}
	var p profile
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// allowed holds every rule that allows a system call, by its name.
func allowed(p profile) map[string][]rule {
	byName := make(map[string][]rule)
	for _, r := range p.Syscalls {
		if r.Action != allow {
			continue
		}
		for _, name := range r.Names {
			byName[name] = append(byName[name], r)
		}
	}
	return byName
}

func TestIsAnAllowList(t *testing.T) {
	p := read(t)
	if p.DefaultAction != refuse {
		t.Errorf("what no rule names gets %s, want %s", p.DefaultAction, refuse)
	}
	for _, name := range []string{
		"add_key", "bpf", "clone3", "delete_module", "finit_module", "fsmount", "init_module", "io_uring_setup", "kexec_load",
		"keyctl", "mount", "move_mount", "open_by_handle_at", "open_tree", "perf_event_open", "pidfd_getfd", "pivot_root",
		"process_vm_readv", "process_vm_writev", "ptrace", "reboot", "request_key", "setns", "settimeofday", "swapon",
		"umount2", "userfaultfd",
	} {
		if len(allowed(p)[name]) > 0 {
			t.Errorf("%s is allowed", name)
		}
	}
}

func TestNamesEachCallOnce(t *testing.T) {
	p := read(t)
	for name, rules := range allowed(p) {
		for _, r := range rules {
			if len(rules) > 1 && len(r.Args) == 0 {
				t.Errorf("%s is allowed whatever its arguments, and again by %d other rules", name, len(rules)-1)
			}
		}
	}
	for _, r := range p.Syscalls {
		if !slices.IsSorted(r.Names) {
			t.Errorf("not in order: %v", r.Names)
		}
	}
}

// A namespace flag that must never be passed is in the mask, and one that Chromium's sandbox needs is not.
func TestLimitsNamespaces(t *testing.T) {
	needed := uint64(unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET)
	others := uint64(unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC)
	for name, forbidden := range map[string]uint64{
		"clone": others,
		// clone's lowest byte is a signal number; only unshare can ask for a time namespace.
		"unshare": others | unix.CLONE_NEWTIME,
	} {
		want := []arg{{Index: 0, Value: forbidden, ValueTwo: 0, Op: "SCMP_CMP_MASKED_EQ"}}
		rules := allowed(read(t))[name]
		if len(rules) != 1 || !slices.Equal(rules[0].Args, want) {
			t.Errorf("%s: rules %+v, want one on %+v", name, rules, want)
		}
		if forbidden&needed != 0 {
			t.Errorf("%s: the mask %#x refuses what Chromium needs (%#x)", name, forbidden, needed)
		}
	}
}

func TestLimitsSocketFamilies(t *testing.T) {
	var families []uint64
	for _, r := range allowed(read(t))["socket"] {
		if len(r.Args) != 1 || r.Args[0].Index != 0 || r.Args[0].Op != "SCMP_CMP_EQ" {
			t.Fatalf("a rule for socket does not compare its family alone: %+v", r.Args)
		}
		families = append(families, r.Args[0].Value)
	}
	if want := []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}; !slices.Equal(families, want) {
		t.Errorf("families %v, want %v", families, want)
	}
}
