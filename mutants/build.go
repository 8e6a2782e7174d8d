package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Build builds the reference of the checkout at root with the mutant's change into the file out.
func (m *Mutant) Build(ctx context.Context, root, out string) (err error) {
	dir, err := os.MkdirTemp("", "conformance-mutant-")
	if err != nil {
		return fmt.Errorf("making a directory for the mutant %s: %w", m.Name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	replaced, err := m.Overlay(root, dir)
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return fmt.Errorf("encoding the overlay: %w", err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return fmt.Errorf("writing the overlay: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-overlay", file, "-o", out, "./cmd/sidecar")
	// An interrupt lets go take its own temporary files away; a kill would leave them, and its compilers.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the mutant %s: %w\n%s", m.Name, err, text)
	}
	return nil
}
