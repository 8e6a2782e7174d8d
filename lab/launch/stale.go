package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/moby/client"

	"github.com/browser-sidecar/conformance/target"
)

// Labels of every container that a run starts: who started it, so that a later run can tell whether that one still lives.
const (
	labelRunner = "browser-sidecar-conformance.runner"
	labelStart  = "browser-sidecar-conformance.runner-start"
	labelPlace  = "browser-sidecar-conformance.runner-place"
)

func ownLabels() (map[string]string, error) {
	start, err := processStart(os.Getpid())
	if err != nil {
		return nil, err
	}
	place, err := ownPlace()
	if err != nil {
		return nil, err
	}
	return map[string]string{labelRunner: strconv.Itoa(os.Getpid()), labelStart: start, labelPlace: place}, nil
}

// removeStale removes the containers of runners that are gone: they were killed before they could do it themselves.
// A container of a runner that can't be seen from here is left alone.
func removeStale(ctx context.Context, docker client.APIClient) error {
	place, err := ownPlace()
	if err != nil {
		return err
	}
	list, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelRunner)})
	if err != nil {
		return fmt.Errorf("listing containers: %w", err)
	}
	var errs []error
	for _, c := range list.Items {
		if stale(c.Labels, place) {
			errs = append(errs, target.RemoveContainer(ctx, docker, c.ID))
		}
	}
	return errors.Join(errs...)
}

func stale(labels map[string]string, place string) bool {
	pid, err := strconv.Atoi(labels[labelRunner])
	if err != nil || labels[labelPlace] != place {
		return false
	}
	start, err := processStart(pid)
	return err != nil || start != labels[labelStart]
}

// processStart is a process's start time in clock ticks since boot: with the id it names one process for good. A process
// that has ended has none, even while its parent hasn't asked for its exit code.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("reading a process's start time: %w", err)
	}
	return parseStart(string(stat))
}

// parseStart reads field 22 of proc_pid_stat(5), and the state in field 3. The name in brackets, field 2, may hold anything.
func parseStart(stat string) (string, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", fmt.Errorf("the process's state has only %d fields after its name", len(fields))
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return "", fmt.Errorf("the process has ended (state %s)", state)
	}
	return fields[19], nil
}

// ownPlace names the boot and the process namespace in which a process id means something: the engine may be another
// machine's, or be shared by runners in containers of their own.
func ownPlace() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot's id: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("reading the process namespace's id: %w", err)
	}
	return strings.TrimSpace(string(boot)) + " " + namespace, nil
}
