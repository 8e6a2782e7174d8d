package target

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Image starts containers of a sidecar's image on the host, each inside a lab container's network and process
// namespaces and with its shared directory. Its Handle answers the calls of a Remote.
type Image struct {
	// Name is the image's reference.
	Name string
	// Lab is the id of the lab's container.
	Lab string
	// SecurityOptions are Docker's, such as "seccomp={…}".
	SecurityOptions []string
	// Labels mark what is to be removed when the runner is gone.
	Labels map[string]string
	// Notify sends an event to the shard.
	Notify func(method string, params any) error

	mu         sync.Mutex
	containers map[int]*imageContainer
	streams    sync.WaitGroup
}

type imageContainer struct {
	testcontainers.Container
	docker client.APIClient
}

// Handle answers a call of the shard; handled is false for one that isn't about a target.
func (i *Image) Handle(ctx context.Context, method string, params json.RawMessage) (handled bool, err error) {
	switch method {
	case MethodStart:
		var p StartParams
		if err := json.Unmarshal(params, &p); err != nil {
			return true, fmt.Errorf("reading a call for a target: %w", err)
		}
		return true, i.start(ctx, p)
	case MethodSignal:
		var p SignalParams
		if err := json.Unmarshal(params, &p); err != nil {
			return true, fmt.Errorf("reading a call for a signal: %w", err)
		}
		c, err := i.container(p.Number)
		if err != nil {
			return true, err
		}
		_, err = c.docker.ContainerKill(ctx, c.GetContainerID(), client.ContainerKillOptions{Signal: fmt.Sprint(int(p.Signal))})
		return true, err
	case MethodRemove:
		var p RemoveParams
		if err := json.Unmarshal(params, &p); err != nil {
			return true, fmt.Errorf("reading a call for a removal: %w", err)
		}
		c, err := i.container(p.Number)
		if err != nil {
			return true, err
		}
		i.mu.Lock()
		delete(i.containers, p.Number)
		i.mu.Unlock()
		return true, c.remove(ctx)
	}
	return false, nil
}

func (i *Image) container(number int) (*imageContainer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c, ok := i.containers[number]
	if !ok {
		return nil, fmt.Errorf("there is no target %d", number)
	}
	return c, nil
}

func (i *Image) start(ctx context.Context, p StartParams) error {
	shared := container.NetworkMode("container:" + i.Lab)
	ctr, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: testcontainers.ContainerRequest{
			Image:  i.Name,
			Cmd:    p.Options.Args,
			Labels: i.Labels,
			ConfigModifier: func(c *container.Config) {
				c.OpenStdin, c.StdinOnce = true, true
				c.AttachStdin, c.AttachStdout, c.AttachStderr = true, true, true
				c.Env = append(c.Env, p.Options.Env...)
			},
			HostConfigModifier: func(h *container.HostConfig) {
				h.NetworkMode = shared
				h.PidMode = container.PidMode(shared)
				h.VolumesFrom = []string{i.Lab}
				h.SecurityOpt = i.SecurityOptions
			},
		},
	})
	if err != nil {
		return fmt.Errorf("creating the container: %w", err)
	}
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return fmt.Errorf("reaching the Docker engine: %w", err)
	}
	c := &imageContainer{Container: ctr, docker: docker}
	// Attached before the start, so that no line is missed.
	attached, err := docker.ContainerAttach(ctx, ctr.GetContainerID(),
		client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return fmt.Errorf("attaching to the container: %w", err)
	}
	i.mu.Lock()
	if i.containers == nil {
		i.containers = make(map[int]*imageContainer)
	}
	i.containers[p.Number] = c
	i.mu.Unlock()
	if err := ctr.Start(ctx); err != nil {
		attached.Close()
		return fmt.Errorf("starting the container: %w", err)
	}
	i.streams.Go(func() {
		_, _ = attached.Conn.Write(p.Options.Stdin)
		_ = attached.CloseWrite()
	})
	i.streams.Go(func() { i.follow(p.Number, c, attached.HijackedResponse) })
	return nil
}

// follow passes on the container's output, and its exit after that.
func (i *Image) follow(number int, c *imageContainer, attached client.HijackedResponse) {
	defer attached.Close()
	_, _ = stdcopy.StdCopy(&outputWriter{i, number, false}, &outputWriter{i, number, true}, attached.Reader)
	// The output ended, so the container has ended or is about to; a removed one counts as killed.
	exit := Exit{Code: 137, Signal: syscall.SIGKILL}
	waited := c.docker.ContainerWait(context.Background(), c.GetContainerID(),
		client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case r := <-waited.Result:
		exit = Exit{Code: int(r.StatusCode)}
		if r.StatusCode > 128 {
			exit.Signal = syscall.Signal(r.StatusCode - 128)
		}
	case err := <-waited.Error:
		// A removed container can't be asked any more; it was killed.
		_ = err
	}
	// A shard that is gone needs no news.
	_ = i.Notify(EventExit, ExitEvent{number, exit})
}

// Close removes every container and waits for its streams.
func (i *Image) Close(ctx context.Context) error {
	i.mu.Lock()
	all := i.containers
	i.containers = nil
	i.mu.Unlock()
	var first error
	for _, c := range all {
		if err := c.remove(ctx); err != nil && first == nil {
			first = err
		}
	}
	i.streams.Wait()
	return first
}

// remove kills first: a stop would wait ten seconds for a target that doesn't handle SIGTERM.
func (c *imageContainer) remove(ctx context.Context) error {
	_, err := c.docker.ContainerRemove(ctx, c.GetContainerID(), client.ContainerRemoveOptions{Force: true})
	if err != nil {
		return fmt.Errorf("removing the container: %w", err)
	}
	return nil
}

type outputWriter struct {
	image  *Image
	number int
	stderr bool
}

func (w *outputWriter) Write(p []byte) (int, error) {
	if err := w.image.Notify(EventOutput, OutputEvent{w.number, w.stderr, p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

var _ io.Writer = (*outputWriter)(nil)
