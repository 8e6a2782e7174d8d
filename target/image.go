package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// containerStart is how long the container engine may take to start one container.
const containerStart = 30 * time.Second

// ImageOptions say what an Image starts.
type ImageOptions struct {
	// Name is the image's reference.
	Name string
	// Lab is the id of the lab's container.
	Lab string
	// SecurityOptions are Docker's, such as "seccomp={…}".
	SecurityOptions []string
	// Labels mark what is to be removed when the runner is gone.
	Labels map[string]string
}

// Image starts containers of a sidecar's image on the host, each inside a lab container's network and process
// namespaces and with its shared directory. Its Handle answers the calls of a Remote.
type Image struct {
	docker  client.APIClient
	options ImageOptions
	notify  func(method string, params any) error

	// open ends with Close, and with it every stream that a container left behind.
	open  context.Context
	close context.CancelFunc

	mu         sync.Mutex
	closed     bool
	containers map[int]string // ids
	streams    sync.WaitGroup
}

// NewImage returns an Image that sends its events to the shard by notify.
func NewImage(docker client.APIClient, o ImageOptions, notify func(method string, params any) error) *Image {
	i := &Image{docker: docker, options: o, notify: notify, containers: make(map[int]string)}
	i.open, i.close = context.WithCancel(context.Background())
	return i
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
		id, err := i.container(p.Number)
		if err != nil {
			return true, err
		}
		_, err = i.docker.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: strconv.Itoa(int(p.Signal))})
		return true, err
	case MethodRemove:
		var p RemoveParams
		if err := json.Unmarshal(params, &p); err != nil {
			return true, fmt.Errorf("reading a call for a removal: %w", err)
		}
		id, err := i.container(p.Number)
		if err != nil {
			return true, err
		}
		return true, i.remove(ctx, p.Number, id)
	}
	return false, nil
}

func (i *Image) container(number int) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id, ok := i.containers[number]
	if !ok {
		return "", fmt.Errorf("there is no target %d", number)
	}
	return id, nil
}

func (i *Image) start(ctx context.Context, p StartParams) error {
	// A shard that hangs up meanwhile must not leave a container that nobody knows.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), containerStart)
	defer cancel()
	ctr, err := CreateContainer(ctx, i.docker, i.request(p.Options))
	if err != nil {
		return fmt.Errorf("creating the container: %w", err)
	}
	id := ctr.GetContainerID()
	// Attached before the start, so that no line is missed.
	attached, err := i.docker.ContainerAttach(ctx, id,
		client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return errors.Join(fmt.Errorf("attaching to the container: %w", err), RemoveContainer(ctx, i.docker, id))
	}
	if err := ctr.Start(ctx); err != nil {
		attached.Close()
		return errors.Join(fmt.Errorf("starting the container: %w", err), RemoveContainer(ctx, i.docker, id))
	}
	if !i.adopt(p, id, attached.HijackedResponse) {
		attached.Close()
		return errors.Join(errors.New("the lab is being put away"), RemoveContainer(ctx, i.docker, id))
	}
	return nil
}

func (i *Image) request(o Options) testcontainers.ContainerRequest {
	shared := container.NetworkMode("container:" + i.options.Lab)
	return testcontainers.ContainerRequest{
		Image: i.options.Name,
		Cmd:   o.Args,
		// Testcontainers adds labels of its own to the map, and starts may come at once.
		Labels: maps.Clone(i.options.Labels),
		ConfigModifier: func(c *container.Config) {
			c.OpenStdin, c.StdinOnce = true, true
			c.AttachStdin, c.AttachStdout, c.AttachStderr = true, true, true
			c.Env = append(c.Env, o.Env...)
		},
		HostConfigModifier: func(h *container.HostConfig) {
			h.NetworkMode = shared
			h.PidMode = container.PidMode(shared)
			h.VolumesFrom = []string{i.options.Lab}
			h.SecurityOpt = i.options.SecurityOptions
		},
	}
}

// adopt follows a container's streams from now on, and reports false when Close came first.
func (i *Image) adopt(p StartParams, id string, attached client.HijackedResponse) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return false
	}
	i.containers[p.Number] = id
	i.streams.Go(func() {
		// A container that ends without reading it shows that by its exit.
		_, _ = attached.Conn.Write(p.Options.Stdin)
		_ = attached.CloseWrite()
	})
	i.streams.Go(func() { i.follow(p.Number, id, attached) })
	return true
}

// follow passes on the container's output, and its exit after that.
func (i *Image) follow(number int, id string, attached client.HijackedResponse) {
	defer attached.Close()
	unhook := context.AfterFunc(i.open, attached.Close)
	defer unhook()
	_, _ = stdcopy.StdCopy(&outputWriter{i, number, false}, &outputWriter{i, number, true}, attached.Reader)
	// The output ended, so the container has ended or is about to; a removed one counts as killed.
	exit := Exit{Code: 137, Signal: syscall.SIGKILL}
	waited := i.docker.ContainerWait(i.open, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
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
	_ = i.notify(EventExit, ExitEvent{number, exit})
}

// Close removes every container and waits for its streams. The wire must be closed, or its peer must read.
func (i *Image) Close(ctx context.Context) error {
	i.mu.Lock()
	i.closed = true
	all := maps.Clone(i.containers)
	i.mu.Unlock()
	var errs []error
	for number, id := range all {
		errs = append(errs, i.remove(ctx, number, id))
	}
	i.close()
	i.streams.Wait()
	return errors.Join(errs...)
}

func (i *Image) remove(ctx context.Context, number int, id string) error {
	if err := RemoveContainer(ctx, i.docker, id); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.containers, number)
	return nil
}

// outputWriter turns one stream of a container into events.
type outputWriter struct {
	image  *Image
	number int
	stderr bool
}

func (w *outputWriter) Write(p []byte) (int, error) {
	if err := w.image.notify(EventOutput, OutputEvent{w.number, w.stderr, p}); err != nil {
		return 0, err
	}
	return len(p), nil
}
