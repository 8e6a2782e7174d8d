package lab

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestCensusTellsWhoCameLater(t *testing.T) {
	l := &Lab{}
	early := exec.CommandContext(t.Context(), "sleep", "60")
	if err := early.Start(); err != nil {
		t.Fatal(err)
	}
	before := l.Census()
	late := exec.CommandContext(t.Context(), "sh", "-c", "read line", "sh", "--user-data-dir=x")
	if _, err := late.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := late.Start(); err != nil {
		t.Fatal(err)
	}
	find := func(pid int) (Process, bool) {
		all := before.Newcomers()
		i := slices.IndexFunc(all, func(p Process) bool { return p.PID == pid })
		if i < 0 {
			return Process{}, false
		}
		return all[i], true
	}
	if _, there := find(early.Process.Pid); there {
		t.Error("who was there before is no newcomer")
	}
	if p, there := find(late.Process.Pid); !there || p.Parent != os.Getpid() || p.Line != "sh -c read line sh --user-data-dir=x" || !p.Browser() {
		t.Errorf("got %v, %t", p, there)
	}
	if err := late.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = late.Wait() // it was killed, and says so
	if p, there := find(late.Process.Pid); there {
		t.Errorf("it is gone: %v", p)
	}
	_ = early.Process.Kill()
	_ = early.Wait()
}
