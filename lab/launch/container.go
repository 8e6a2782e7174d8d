package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/target"
)

// SharedDir is the lab container's directory that every target's container sees at the same path.
const SharedDir = "/conformance"

// labStart bounds what the container engine may take to start a lab.
const labStart = time.Minute

// ContainerOptions say which images make up a lab.
type ContainerOptions struct {
	// LabImage holds this binary, Chromium and certutil; Argv is the shard's command in it.
	LabImage string
	Argv     []string
	// TargetImage is the sidecar's, and SecurityOptions are Docker's for it, such as "seccomp={…}".
	TargetImage     string
	SecurityOptions []string
}

// Container starts a shard in a container that has no network but its own lo, and starts the targets that the shard asks
// for in its namespaces. Both images must be there: a pull has no place in a run. What an earlier runner left behind when
// it was killed is removed first.
func Container(ctx context.Context, o ContainerOptions, stderr io.Writer) (*Shard, error) {
	if err := quietTestcontainers(); err != nil {
		return nil, err
	}
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, fmt.Errorf("reaching the Docker engine: %w", err)
	}
	shard, err := containerLab(ctx, docker, o, stderr)
	if err != nil {
		return nil, errors.Join(err, docker.Close())
	}
	return shard, nil
}

// quietTestcontainers sets the library up for a process. It reads its configuration once, at its first use.
func quietTestcontainers() error {
	// The reaper is an image of its own, which can't always be pulled; stale containers are found by their label instead.
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return fmt.Errorf("switching the reaper off: %w", err)
	}
	// It would tell of each container on standard error, between the lines of the run's own progress.
	tclog.SetDefault(tclog.NewNoopLogger())
	return nil
}

func containerLab(ctx context.Context, docker *testcontainers.DockerClient, o ContainerOptions, stderr io.Writer) (*Shard, error) {
	for _, image := range []string{o.LabImage, o.TargetImage} {
		if err := present(ctx, docker, image); err != nil {
			return nil, err
		}
	}
	if err := removeStale(ctx, docker); err != nil {
		return nil, fmt.Errorf("removing what an earlier run left: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// An interrupt from here on finds a shard that can be put away, rather than a container that nobody knows.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), labStart)
	defer cancel()
	shard, err := startLab(ctx, docker, o, stderr)
	if err != nil {
		return nil, fmt.Errorf("starting the lab's container: %w", err)
	}
	return shard, nil
}

func present(ctx context.Context, docker client.APIClient, image string) error {
	if _, err := docker.ImageInspect(ctx, image); err != nil {
		return fmt.Errorf("looking for the image %q, which must be built or pulled before a run: %w", image, err)
	}
	return nil
}

func startLab(ctx context.Context, docker *testcontainers.DockerClient, o ContainerOptions, stderr io.Writer) (*Shard, error) {
	labels, err := ownLabels()
	if err != nil {
		return nil, err
	}
	ctr, err := target.CreateContainer(ctx, docker, testcontainers.ContainerRequest{
		Image:  o.LabImage,
		Cmd:    o.Argv,
		Labels: maps.Clone(labels),
		ConfigModifier: func(c *container.Config) {
			c.OpenStdin, c.StdinOnce = true, true
			c.AttachStdin, c.AttachStdout, c.AttachStderr = true, true, true
			c.Volumes = map[string]struct{}{SharedDir: {}}
		},
		HostConfigModifier: sealed,
	})
	if err != nil {
		return nil, fmt.Errorf("creating it: %w", err)
	}
	id := ctr.GetContainerID()
	attached, err := docker.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attaching to it: %w", err), target.RemoveContainer(ctx, docker, id))
	}
	if err := ctr.Start(ctx); err != nil {
		attached.Close()
		return nil, errors.Join(fmt.Errorf("starting it: %w", err), target.RemoveContainer(ctx, docker, id))
	}

	out, demux := io.Pipe()
	var streams sync.WaitGroup
	streams.Go(func() {
		_, err := stdcopy.StdCopy(demux, stderr, attached.Reader)
		demux.CloseWithError(err)
	})
	shard := newShard(out, attachedInput{attached.HijackedResponse})
	images := target.NewImage(docker, target.ImageOptions{
		Name: o.TargetImage, Lab: id, SecurityOptions: o.SecurityOptions, Labels: labels,
	}, shard.conn.Notify)
	shard.calls = images.Handle
	shard.end = func(ctx context.Context) (int, error) {
		code, err := exitCode(ctx, docker, id)
		// By force where it still runs. Its process namespace is its targets' too, so that they end with it; then nothing
		// waits for the wire any more.
		errs := []error{err, target.RemoveContainer(ctx, docker, id)}
		attached.Close()
		errs = append(errs, images.Close(ctx), out.Close())
		streams.Wait()
		return code, errors.Join(append(errs, docker.Close())...)
	}
	return shard, nil
}

// sealed leaves the container no network but lo, and the rights to put addresses on it and to look into its targets.
func sealed(h *container.HostConfig) {
	h.NetworkMode = "none"
	h.CapAdd = []string{"NET_ADMIN", "SYS_PTRACE", "KILL"}
	h.DNS = []netip.Addr{netip.MustParseAddr(lab.Nameserver())}
	h.DNSSearch = []string{lab.SearchDomain}
	h.DNSOptions = []string{"ndots:5", "timeout:2", "attempts:2"}
	h.Sysctls = map[string]string{
		"net.ipv6.conf.all.disable_ipv6": "0", "net.ipv6.conf.lo.disable_ipv6": "0", "net.ipv6.conf.default.disable_ipv6": "0",
	}
}

// exitCode waits for the lab's end, until ctx is done.
func exitCode(ctx context.Context, docker client.APIClient, id string) (int, error) {
	waited := docker.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case r := <-waited.Result:
		return int(r.StatusCode), nil
	case err := <-waited.Error:
		return 0, fmt.Errorf("waiting for the lab's container to end: %w", err)
	}
}

// attachedInput closes only the input's half of an attached container.
type attachedInput struct{ client.HijackedResponse }

func (a attachedInput) Write(p []byte) (int, error) { return a.Conn.Write(p) }
func (a attachedInput) Close() error                { return a.CloseWrite() }
