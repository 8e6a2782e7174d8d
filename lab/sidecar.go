package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/target"
)

// stopWithin bounds a clean stop: a sidecar posts what it recorded, and ends.
const stopWithin = 15 * time.Second

// Sidecar is one started sidecar under test: what a spec holds.
type Sidecar struct {
	// Addr is where its HTTP port listens, as host:port, and Port is the port.
	Addr string
	Port int
	// Ready is its ready line as sent, and Version and PID what it says.
	Ready   string
	Version string
	PID     int
	// Config is the configuration that it was started with.
	Config Config
	// Dir is the workdir of its configuration, as the suite sees it.
	Dir string
	// Process is the running process.
	Process *target.Process

	lab *Lab
}

// readyLine is the shape of the line that a sidecar prints once it listens (contract: cli.ready-line).
type readyLine struct {
	Ready   bool   `json:"ready"`
	Port    int    `json:"port"`
	Version string `json:"version"`
	PID     int    `json:"pid"`
}

// BaseConfig is the smallest valid configuration with a token of its own, a fresh workdir and the lab's app.
func (l *Lab) BaseConfig() (Config, error) {
	dir, err := l.freshDir("workdir")
	if err != nil {
		return nil, err
	}
	c := Config{"token": newToken(), "app_url": l.AppURL(""), "workdir": dir}
	if l.sandbox != nil {
		c["chromium_sandbox"] = *l.sandbox
	}
	return c, nil
}

// Run starts the target with the given options and doesn't wait for a ready line. The process is removed when the lab
// closes, at the latest.
func (l *Lab) Run(ctx context.Context, o target.Options) (*target.Process, error) {
	o.Env = append(o.Env, "HOME="+l.home)
	p, err := l.runner.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	return p, nil
}

// Start starts a sidecar of the spec's own, with its configuration on stdin, and waits until it listens.
func (l *Lab) Start(ctx context.Context, c Config) (*Sidecar, error) {
	return l.StartWith(ctx, c, target.Options{})
}

// Launch starts the target with its configuration on stdin and, unlike Start, waits for nothing.
func (l *Lab) Launch(ctx context.Context, c Config, o target.Options) (*target.Process, error) {
	if err := l.redactor.Add(report.Secret{Label: "token", Value: c.Token()}); err != nil {
		return nil, err
	}
	if o.Args == nil {
		stdin, err := c.JSON()
		if err != nil {
			return nil, err
		}
		o.Stdin = stdin
	}
	return l.Run(ctx, o)
}

// StartWith is Start with other arguments or a richer environment. The configuration goes to stdin unless arguments say
// otherwise.
func (l *Lab) StartWith(ctx context.Context, c Config, o target.Options) (*Sidecar, error) {
	p, err := l.Launch(ctx, c, o)
	if err != nil {
		return nil, err
	}
	line, err := p.ReadyLine(ctx, l.readyWithin)
	if err != nil {
		l.Transcript.Add("#", "the target did not become ready", []byte(p.Stderr.Tail(50)))
		return nil, err
	}
	var ready readyLine
	if err := json.Unmarshal([]byte(line), &ready); err != nil || !ready.Ready || ready.Port <= 0 || ready.PID <= 0 {
		return nil, fmt.Errorf("the target's first line on stdout is no ready line: %q", line)
	}
	host, _ := c["host"].(string)
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	dir, _ := c["workdir"].(string)
	return &Sidecar{
		Addr: net.JoinHostPort(host, strconv.Itoa(ready.Port)), Port: ready.Port, Ready: line, Version: ready.Version,
		PID: ready.PID, Config: c, Dir: dir, Process: p, lab: l,
	}, nil
}

// ConfigFile writes a configuration to a file that the target may read, and returns its path.
func (l *Lab) ConfigFile(c Config) (string, error) {
	text, err := c.JSON()
	if err != nil {
		return "", err
	}
	return l.TextFile(text)
}

// TextFile is ConfigFile for a text that may be no configuration.
func (l *Lab) TextFile(text []byte) (string, error) {
	dir, err := l.freshDir("config")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // the target's user id is unknown
		return "", fmt.Errorf("writing a configuration: %w", err)
	}
	return path, nil
}

// Stop sends a signal, waits for the end and returns how it ended.
func (s *Sidecar) Stop(ctx context.Context, signal syscall.Signal) (target.Exit, error) {
	if err := s.Process.Signal(ctx, signal); err != nil {
		return target.Exit{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	return s.Process.Wait(ctx)
}

// Ended tells whether its process has ended, by itself or not.
func (s *Sidecar) Ended() bool {
	select {
	case <-s.Process.Exited():
		return true
	default:
		return false
	}
}

// Remove ends the sidecar by force.
func (s *Sidecar) Remove(ctx context.Context) error { return s.lab.remove(ctx, s.Process) }

// Token is its master bearer token.
func (s *Sidecar) Token() string { return s.Config.Token() }

// Get is an admitted GET request for a path.
func (s *Sidecar) Get(path string) Request {
	return Request{Method: "GET", Target: path, Proto: "HTTP/1.1"}.
		Add("Host", s.Addr).Add("Authorization", "Bearer "+s.Token())
}

// Post is an admitted POST request with a JSON body.
func (s *Sidecar) Post(path string, body []byte) Request {
	r := s.Get(path).As("POST").Add("Content-Type", "application/json").Add("Accept", "application/json, text/event-stream").
		Add("Content-Length", strconv.Itoa(len(body)))
	r.Body = body
	return r
}

// Healthy checks that the sidecar still answers: a refusal counts only when its giver is alive.
func (s *Sidecar) Healthy(ctx context.Context) error {
	answer, err := s.Do(ctx, s.Get("/health"))
	if err != nil {
		return fmt.Errorf("asking for the sidecar's health: %w", err)
	}
	if answer.Status != 200 {
		return fmt.Errorf("asking for the sidecar's health: %s", answer)
	}
	return nil
}

// Entries lists what is in its workdir, hidden files included.
func (s *Sidecar) Entries() ([]string, error) { return Entries(s.Dir) }

// Entries lists what is in a directory that the target sees, hidden files included.
func Entries(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the workdir: %w", err)
	}
	paths := make([]string, 0, len(entries))
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return paths, nil
}

// Hide takes further values out of whatever leaves the lab: those of a configuration that StartWith doesn't see.
func (l *Lab) Hide(label string, values ...string) error {
	for _, v := range values {
		if err := l.redactor.Add(report.Secret{Label: label, Value: v}); err != nil {
			return err
		}
	}
	return nil
}

// Discard ends what Run has started and forgets it, together with what it printed.
func (l *Lab) Discard(ctx context.Context, p *target.Process) error { return l.remove(ctx, p) }
