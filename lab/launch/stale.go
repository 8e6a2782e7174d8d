package launch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/moby/moby/client"

	"github.com/browser-sidecar/conformance/lab"
)

// Labels of every container that a run starts: who started it, so that a later run can tell whether that one still lives.
const (
	labelRunner = "browser-sidecar-conformance.runner"
	labelStart  = "browser-sidecar-conformance.runner-start"
	labelBoot   = "browser-sidecar-conformance.boot"
)

func ownLabels() (map[string]string, error) {
	start, err := processStart(os.Getpid())
	if err != nil {
		return nil, err
	}
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	return map[string]string{labelRunner: strconv.Itoa(os.Getpid()), labelStart: start, labelBoot: boot}, nil
}

// removeStale removes the containers of runners that are gone: they were killed before they could do it themselves.
// A container of a runner on another machine of the same engine is left alone.
func removeStale(ctx context.Context, docker client.APIClient) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	list, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelRunner)})
	if err != nil {
		return fmt.Errorf("listing containers: %w", err)
	}
	var errs []error
	for _, c := range list.Items {
		if !stale(c.Labels, boot) {
			continue
		}
		if _, err := docker.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			errs = append(errs, fmt.Errorf("removing container %.12s: %w", c.ID, err))
		}
	}
	return errors.Join(errs...)
}

func stale(labels map[string]string, boot string) bool {
	pid, err := strconv.Atoi(labels[labelRunner])
	if err != nil || labels[labelBoot] != boot {
		return false
	}
	start, err := processStart(pid)
	return err != nil || start != labels[labelStart]
}

// processStart is a process's start time in clock ticks since boot: with the id it names one process for good.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("reading a process's start time: %w", err)
	}
	// The name, in brackets, may hold blanks; the start time is the 20th field after it.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("the state of process %d has only %d fields", pid, len(fields))
	}
	return fields[19], nil
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot's id: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

func dnsServers() []netip.Addr { return []netip.Addr{netip.MustParseAddr(lab.Nameserver())} }
