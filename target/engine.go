package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// containerRemove is how long the container engine may take to remove one container.
const containerRemove = 10 * time.Second

// CreateContainer makes a container that isn't started yet. It leaves none when it fails.
func CreateContainer(ctx context.Context, docker client.APIClient, r testcontainers.ContainerRequest) (testcontainers.Container, error) {
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{ContainerRequest: r})
	if err == nil {
		return c, nil
	}
	// Testcontainers hands out what it had made before it failed.
	if c != nil && c.GetContainerID() != "" {
		err = errors.Join(err, RemoveContainer(ctx, docker, c.GetContainerID()))
	}
	return nil, err
}

// RemoveContainer removes a container and its own volumes, whether or not ctx is done, and is content with one that is
// gone. It kills: a stop would wait ten seconds for a target that doesn't handle SIGTERM.
func RemoveContainer(ctx context.Context, docker client.APIClient, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), containerRemove)
	defer cancel()
	for {
		_, err := docker.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || gone(ctx, docker, id) {
			return nil
		}
		// Somebody else may be removing it, such as another runner at its start, which the engine reports as an error.
		select {
		case <-ctx.Done():
			return fmt.Errorf("removing container %.12s: %w", id, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func gone(ctx context.Context, docker client.APIClient, id string) bool {
	list, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("id", id)})
	return err == nil && len(list.Items) == 0
}
