// Package lab is the sealed network in which a sidecar is attacked, with the fakes wired together and the target under
// test: what a spec asks for.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/browser-sidecar/conformance/fakes/app"
	"github.com/browser-sidecar/conformance/fakes/dns"
	"github.com/browser-sidecar/conformance/fakes/ingest"
	"github.com/browser-sidecar/conformance/fixtures/pages"
	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/target"
)

// Options say what a lab is made of.
type Options struct {
	// Dir is a directory that the suite and the target see at the same path.
	Dir string
	// Runner starts the target.
	Runner target.Runner
	// Sandbox is chromium_sandbox in every configuration; nil leaves the key out.
	Sandbox *bool
	// ReadyWithin bounds the time from a target's start to its ready line.
	ReadyWithin time.Duration
}

// Lab is the network, the fakes and the targets of one run. Specs run one at a time; each begins with empty logs.
type Lab struct {
	DNS        *dns.Server
	Sites      *app.Sites
	Canaries   *Canaries
	Ingest     *ingest.Server
	CA         *CA
	Tap        *Tap
	Transcript *Transcript

	runner      target.Runner
	sandbox     *bool
	readyWithin time.Duration
	dir, home   string
	redactor    *report.Redactor
	own         sources

	recordingToken string

	mu        sync.Mutex
	shared    *Sidecar
	processes []*target.Process
	dirs      int
}

// Open brings the network up, proves that it is sealed, and starts the fakes. It must run inside the lab's own network
// namespace.
func Open(ctx context.Context, o Options) (*Lab, error) {
	if err := BringUp(); err != nil {
		return nil, fmt.Errorf("bringing the lab's network up: %w", err)
	}
	if err := CheckSeal(ctx); err != nil {
		return nil, fmt.Errorf("checking the lab's seal: %w", err)
	}
	redactor, err := report.NewRedactor()
	if err != nil {
		return nil, err
	}
	l := &Lab{
		Transcript: &Transcript{}, runner: o.Runner, sandbox: o.Sandbox, readyWithin: o.ReadyWithin, dir: o.Dir, redactor: redactor,
	}
	if err := l.open(ctx); err != nil {
		return nil, errors.Join(err, l.Close(context.WithoutCancel(ctx)))
	}
	return l, nil
}

func (l *Lab) open(ctx context.Context) error {
	var err error
	if l.home, err = l.freshDir("home"); err != nil {
		return err
	}
	if l.CA, err = NewCA(); err != nil {
		return err
	}
	if err := l.CA.InstallInto(ctx, l.home); err != nil {
		return err
	}
	if l.Tap, err = OpenTap(); err != nil {
		return fmt.Errorf("tapping the lab's network: %w", err)
	}
	if l.DNS, err = dns.Start(ctx, dnsAddr().String()); err != nil {
		return fmt.Errorf("starting the lab's DNS: %w", err)
	}
	if l.Sites, err = app.Start(ctx, siteListeners(), app.Options{TLS: l.CA.TLS(), Pages: pages.FS()}); err != nil {
		return fmt.Errorf("starting the lab's sites: %w", err)
	}
	if err := checkSites(ctx, l.CA.Pool()); err != nil {
		return fmt.Errorf("checking the lab's sites: %w", err)
	}
	if l.Canaries, err = StartCanaries(ctx, l.CA.TLS()); err != nil {
		return fmt.Errorf("starting the lab's canaries: %w", err)
	}
	if err := l.startIngest(ctx); err != nil {
		return err
	}
	return l.Begin()
}

// Begin forgets what earlier specs did to the fakes: every spec can run alone, first or last.
func (l *Lab) Begin() error {
	l.DNS.Reset()
	l.Sites.Reset()
	l.Canaries.Reset()
	l.Ingest.Reset()
	l.Tap.Reset()
	l.own.age()
	l.Transcript.Reset()
	for _, name := range []string{PublicName, "*." + PublicName} {
		if err := l.DNS.Set(name, dns.Answer(publicAddrs()...)); err != nil {
			return fmt.Errorf("scripting the lab's DNS: %w", err)
		}
	}
	return nil
}

// Sidecar is the one that specs share which change nothing in it, started at its first use and again when it has ended.
func (l *Lab) Sidecar(ctx context.Context) (*Sidecar, error) {
	if s := l.current(); s != nil && !s.Ended() {
		return s, nil
	}
	c, err := l.BaseConfig()
	if err != nil {
		return nil, err
	}
	s, err := l.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.shared = s
	l.mu.Unlock()
	return s, nil
}

// current is the shared sidecar, or nil. A spec that ran into its time limit may still ask for it while the next one runs.
func (l *Lab) current() *Sidecar {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared
}

// Finish removes the sidecars of the spec's own, and the shared one after a failure: what broke it must not break the
// next spec's verdict.
func (l *Lab) Finish(ctx context.Context, failed bool) error {
	l.mu.Lock()
	if failed {
		l.shared = nil
	}
	shared, processes := l.shared, slices.Clone(l.processes)
	l.mu.Unlock()
	var errs []error
	for _, p := range processes {
		if shared == nil || p != shared.Process {
			errs = append(errs, l.remove(ctx, p))
		}
	}
	return errors.Join(errs...)
}

func (l *Lab) remove(ctx context.Context, p *target.Process) error {
	l.mu.Lock()
	before := len(l.processes)
	l.processes = slices.DeleteFunc(l.processes, func(q *target.Process) bool { return p == q })
	known := len(l.processes) < before
	l.mu.Unlock()
	if !known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	return p.Remove(ctx)
}

// Close removes every target and stops the fakes.
func (l *Lab) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	errs := []error{l.Finish(ctx, true)}
	if l.Ingest != nil {
		errs = append(errs, l.Ingest.Close())
	}
	if l.Canaries != nil {
		errs = append(errs, l.Canaries.Close())
	}
	if l.Sites != nil {
		errs = append(errs, l.Sites.Close())
	}
	if l.Tap != nil {
		errs = append(errs, l.Tap.Close())
	}
	if l.DNS != nil {
		errs = append(errs, l.DNS.Close())
	}
	return errors.Join(errs...)
}

// freshDir makes a directory below the shared one that any user id may write to.
func (l *Lab) freshDir(name string) (string, error) {
	l.mu.Lock()
	l.dirs++
	dir := filepath.Join(l.dir, fmt.Sprintf("%s-%d", name, l.dirs))
	l.mu.Unlock()
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", fmt.Errorf("making a directory for the target: %w", err)
	}
	// The process's umask must not narrow it.
	if err := os.Chmod(dir, 0o777); err != nil {
		return "", fmt.Errorf("opening a directory to the target: %w", err)
	}
	return dir, nil
}

// Redact takes the run's secrets out of a text.
func (l *Lab) Redact(text string) string { return l.redactor.String(text) }
