package launch

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/browser-sidecar/conformance/target"
)

// sleepImage has a command sleep; the images of this repository are made from it.
const sleepImage = "debian:bookworm-slim"

// needsDocker skips a test where no engine answers or the image is missing, and fails it in CI, where both must be there.
func needsDocker(t *testing.T) *testcontainers.DockerClient {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI") == "true" {
		missing = t.Fatalf
	}
	if err := quietTestcontainers(); err != nil {
		t.Fatal(err)
	}
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		missing("needs Docker (hack/setup installs it): %v", err)
	}
	t.Cleanup(func() { _ = docker.Close() })
	if _, err := docker.ImageInspect(t.Context(), sleepImage); err != nil {
		missing("needs Docker with the image %s (hack/base-image makes it): %v", sleepImage, err)
	}
	return docker
}

// sleepingLab is a container lab whose shard hears nothing and never ends.
func sleepingLab(ctx context.Context) (*Shard, error) {
	return Container(ctx, ContainerOptions{LabImage: sleepImage, Argv: []string{"sleep", "600"}, TargetImage: sleepImage}, os.Stderr)
}

// startSleep is a shard's call for target number n.
func startSleep(n int) json.RawMessage {
	params, err := json.Marshal(target.StartParams{Number: n, Options: target.Options{Args: []string{"sleep", "600"}}})
	if err != nil {
		panic(err) // of literals
	}
	return params
}

// containersOf lists the containers of one runner with their volumes.
func containersOf(t *testing.T, docker client.APIClient, pid int) (ids, volumes []string) {
	t.Helper()
	list, err := docker.ContainerList(t.Context(), client.ContainerListOptions{
		All: true, Filters: client.Filters{}.Add("label", labelRunner+"="+strconv.Itoa(pid)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Items {
		ids = append(ids, c.ID)
		for _, m := range c.Mounts {
			volumes = append(volumes, m.Name)
		}
	}
	return ids, volumes
}

// gone checks that a runner's containers and volumes are no more.
func gone(t *testing.T, docker client.APIClient, pid int, volumes []string) {
	t.Helper()
	if ids, _ := containersOf(t, docker, pid); len(ids) != 0 {
		t.Errorf("left containers: %q", ids)
	}
	for _, v := range volumes {
		if _, err := docker.VolumeInspect(t.Context(), v, client.VolumeInspectOptions{}); err == nil {
			t.Errorf("left volume: %s", v)
		}
	}
}

func TestStartRemovesContainersOfDeadRunnersAlone(t *testing.T) {
	docker := needsDocker(t)
	own, err := ownLabels()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := deadRunner(t)
	elsewhere[labelPlace] = "another machine"
	start := func(labels map[string]string) string {
		created, err := docker.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Config:     &container.Config{Image: sleepImage, Cmd: []string{"sleep", "600"}, Labels: maps.Clone(labels)},
			HostConfig: &container.HostConfig{NetworkMode: "none"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := target.RemoveContainer(context.Background(), docker, created.ID); err != nil {
				t.Error(err)
			}
		})
		if _, err := docker.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	dead, living, other, unlabelled := start(deadRunner(t)), start(own), start(elsewhere), start(nil)

	shard, err := sleepingLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{dead: false, living: true, other: true, unlabelled: true} {
		if _, err := docker.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{}); (err == nil) != want {
			t.Errorf("container %.12s: want it there: %t, got %v", id, want, err)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = shard.end(done)
}

func TestContainerLabThatDoesNotStopIsEndedByForce(t *testing.T) {
	docker := needsDocker(t)
	shard, err := sleepingLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if handled, err := shard.calls(t.Context(), target.MethodStart, startSleep(n+1)); !handled || err != nil {
			t.Fatalf("starting target %d: %t, %v", n+1, handled, err)
		}
	}
	if handled, err := shard.calls(t.Context(), target.MethodRemove, json.RawMessage(`{"number":1}`)); !handled || err != nil {
		t.Errorf("removing target 1: %t, %v", handled, err)
	}
	ids, volumes := containersOf(t, docker, os.Getpid())
	if len(ids) != 2 || len(volumes) != 2 || volumes[0] != volumes[1] {
		t.Errorf("want the lab and target 2 on one volume, got %q, %q", ids, volumes)
	}
	// As when a shard doesn't heed the end of its input: nothing of the given time is left for removing.
	done, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-done.Done()
	if _, err := shard.end(done); err == nil || !strings.Contains(err.Error(), "waiting for the lab's container to end") {
		t.Errorf("want to be told that it did not end by itself, got %v", err)
	}
	gone(t, docker, os.Getpid(), volumes)
	if _, err := shard.calls(t.Context(), target.MethodStart, startSleep(3)); err == nil {
		t.Error("a lab that is put away starts no target")
	}
	gone(t, docker, os.Getpid(), volumes)
}

func TestWhatAKilledRunnerLeftIsRemovedAtTheNextStart(t *testing.T) {
	docker := needsDocker(t)
	runner := startRunner(t, "container")
	pid := runner.Process.Pid
	ids, volumes := containersOf(t, docker, pid)
	if len(ids) != 2 {
		t.Fatalf("want the lab and its target, got %q", ids)
	}
	if err := removeStale(t.Context(), docker); err != nil {
		t.Fatal(err)
	}
	if still, _ := containersOf(t, docker, pid); len(still) != 2 {
		t.Errorf("a living runner keeps its containers, got %q", still)
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = runner.Wait()
	if left, _ := containersOf(t, docker, pid); len(left) != 2 {
		t.Errorf("the test expects what a killed runner leaves, got %q", left)
	}
	// Two runners may start at once.
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- removeStale(t.Context(), docker) }()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	gone(t, docker, pid, volumes)
}

func TestMissingImageIsNamedAtOnce(t *testing.T) {
	needsDocker(t)
	_, err := Container(t.Context(), ContainerOptions{LabImage: sleepImage, TargetImage: "browser-sidecar-no-such:dev"}, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), `"browser-sidecar-no-such:dev", which must be built or pulled`) {
		t.Errorf("want an error that names the image, got %v", err)
	}
}
