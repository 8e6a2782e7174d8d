package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/lab/launch"
	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/spec"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// runOptions are the flags of run.
type runOptions struct {
	target      string
	image       string
	labImage    string
	seccomp     string
	sandbox     string
	readyWithin time.Duration
	profiles    []string
	filter      spec.Filter
	long        bool
	parallel    int
	seed        int64
	out         string
	argv        []string
	// securityOptions are Docker's for the sidecar's container; check reads them.
	securityOptions []string
	// effective are all options with where their value came from.
	effective []report.Option
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run --target command [flags] -- COMMAND [ARGUMENTS]\n  conformance run --target image --image NAME [flags]",
		Short: "Run the suite against a sidecar and write the reports",
		Example: `  conformance run --target command -- bin/sidecar
  conformance run --target image --image browser-sidecar:dev --seccomp seccomp/chromium.json
  conformance run --target command --clause egress.loopback -- bin/sidecar`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.argv = args
			return run(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.target, "target", "", "what is under test: command or image")
	f.StringVar(&o.image, "image", "", "the sidecar's image")
	f.StringVar(&o.labImage, "lab-image", "browser-sidecar-conformance:dev", "the suite's own image, in which the lab runs")
	f.StringVar(&o.seccomp, "seccomp", "", "seccomp profile for the sidecar's container, so that Chromium's own sandbox works")
	f.StringVar(&o.sandbox, "chromium-sandbox", "default", "chromium_sandbox in the configuration: true, false, or default (left out)")
	f.DurationVar(&o.readyWithin, "ready-timeout", 8*time.Second, "how long the sidecar may take from start to ready line")
	f.StringSliceVar(&o.profiles, "claim", []string{"core"}, "profiles that the sidecar claims")
	f.BoolVar(&o.long, "long", false, "also run the clauses that take long")
	f.IntVarP(&o.parallel, "parallel", "p", 0, "labs side by side, each with targets of its own; 0 takes as many as fit this machine")
	f.Int64Var(&o.seed, "seed", 0, "order of the specs; 0 draws one")
	f.StringVar(&o.out, "out", "out/run", "directory for the reports and the evidence")
	selectionFlags(cmd, &o.filter)
	return cmd
}

// check finds what is wrong with the command line.
func (o *runOptions) check() error {
	switch o.target {
	case "command":
		if len(o.argv) == 0 {
			return errors.New("--target command needs the sidecar's command after --")
		}
		if o.image != "" || o.seccomp != "" {
			return errors.New("--image and --seccomp go with --target image")
		}
	case "image":
		if o.image == "" {
			return errors.New("--target image needs --image")
		}
		if len(o.argv) > 0 {
			return fmt.Errorf("--target image takes no command, got %q", o.argv)
		}
	default:
		return fmt.Errorf("--target must be command or image, not %q", o.target)
	}
	if _, err := o.sandboxValue(); err != nil {
		return err
	}
	if o.seccomp != "" {
		profile, err := os.ReadFile(o.seccomp)
		if err != nil {
			return fmt.Errorf("reading --seccomp: %w", err)
		}
		if !json.Valid(profile) {
			return fmt.Errorf("reading --seccomp: %s is not JSON", o.seccomp)
		}
		o.securityOptions = []string{"seccomp=" + string(profile)}
	}
	if o.parallel < 0 {
		return fmt.Errorf("--parallel must be 0 or more, not %d", o.parallel)
	}
	if o.readyWithin <= 0 {
		return fmt.Errorf("--ready-timeout must be positive, not %s", o.readyWithin)
	}
	return nil
}

func (o *runOptions) sandboxValue() (*bool, error) {
	switch o.sandbox {
	case "default":
		return nil, nil //nolint:nilnil // no value is one of the three
	case "true", "false":
		value := o.sandbox == "true"
		return &value, nil
	}
	return nil, fmt.Errorf("--chromium-sandbox must be true, false or default, not %q", o.sandbox)
}

func run(cmd *cobra.Command, o runOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	contract, suite, err := loadContract(&lab.Lab{})
	if err != nil {
		return err
	}
	plan, err := newPlan(contract, suite.Proved(), o)
	if err != nil {
		return err
	}
	if o.parallel == 0 {
		o.parallel = fittingLabs()
	}
	if o.seed == 0 {
		o.seed = rand.Int64N(1 << 31)
	}
	o.effective = effective(cmd)
	hands := deal(plan.runnable, o.parallel, costs(lastTimes(o.out), suite.Proved()))
	dir, err := emptyDir(o.out)
	if err != nil {
		return failure{err}
	}
	redactor, err := report.NewRedactor()
	if err != nil {
		return failure{err}
	}
	evidence, err := report.NewEvidence(dir, redactor)
	if err != nil {
		return failure{err}
	}
	console := report.NewConsole(cmd.OutOrStdout(), report.ConsoleOptions{
		Color: report.UseColor(os.Stdout, os.Getenv), Root: o.out, Redactor: redactor,
	})
	defer console.Close()
	c := newCollector(plan, suite.Proved(), newReport(o, plan), console, evidence)
	c.judge(cmd.Context(), o, hands)
	if err := errors.Join(c.finish(time.Now()), evidence.Close()); err != nil {
		return failure{err}
	}
	paths, err := c.write(o.out)
	if err != nil {
		return failure{err}
	}
	if err := console.Finish(c.run, paths...); err != nil {
		return failure{fmt.Errorf("printing the result: %w", err)}
	}
	if code := c.run.ExitCode(); code != report.ExitConformant {
		return exitError{code}
	}
	return nil
}

// effective lists every option with its value and whether the user gave it.
func effective(cmd *cobra.Command) []report.Option {
	options := []report.Option{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		source := "default"
		if f.Changed {
			source = "flag"
		}
		options = append(options, report.Option{Name: f.Name, Value: f.Value.String(), Source: source})
	})
	return options
}

// ownFiles are what a run writes into its directory, and so may take away.
func ownFiles() []string { return []string{"report.json", "junit.xml", "evidence"} }

// emptyDir makes the directory of a run and takes an earlier run's files away, and nothing else.
func emptyDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding --out: %w", err)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fmt.Errorf("making --out: %w", err)
	}
	for _, name := range ownFiles() {
		if err := os.RemoveAll(filepath.Join(abs, name)); err != nil {
			return "", fmt.Errorf("emptying --out: %w", err)
		}
	}
	return abs, nil
}

// order is what the shard gets that proves these clauses.
func (o *runOptions) order(clauses []string) (engine.Order, error) {
	sandbox, err := o.sandboxValue()
	if err != nil {
		return engine.Order{}, err
	}
	argv := o.argv
	if len(argv) > 0 && strings.Contains(argv[0], string(filepath.Separator)) {
		// The command runs in a directory of the lab's.
		path, err := filepath.Abs(argv[0])
		if err != nil {
			return engine.Order{}, fmt.Errorf("finding the sidecar's command: %w", err)
		}
		argv = append([]string{path}, argv[1:]...)
	}
	return engine.Order{
		Clauses: clauses,
		Seed:    o.seed,
		Target:  engine.TargetOrder{Kind: o.target, Argv: argv, Sandbox: sandbox, ReadyWithin: o.readyWithin},
	}, nil
}

// launch starts the shard that suits the target.
func (o *runOptions) launch(ctx context.Context) (*launch.Shard, error) {
	if o.target == "command" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
		argv := func(dir string) []string { return []string{self, "lab-init", dir, self, "shard", dir} }
		return launch.Namespaces(ctx, argv, os.Stderr)
	}
	return launch.Container(ctx, launch.ContainerOptions{
		LabImage: o.labImage, Argv: []string{"shard", launch.SharedDir}, TargetImage: o.image, SecurityOptions: o.securityOptions,
	}, os.Stderr)
}
