package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/browser-sidecar/conformance/mutants"
	"github.com/browser-sidecar/conformance/report"
)

// mutantOptions are the flags of mutants.
type mutantOptions struct {
	root     string
	out      string
	only     []string
	sample   bool
	seed     int64
	matrix   bool
	parallel int
	sandbox  string
}

func mutantsCommand() *cobra.Command {
	var o mutantOptions
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Break the reference one clause at a time and see that the suite notices",
		Long: `Builds the reference once for each patch in mutants/ and runs the suite against it.

A mutant is killed when a spec of the clause that it names fails. One that survives is a hole in the suite, and makes the
command exit 1. By default each mutant meets its own clause only; with --matrix it meets every clause, and the ones that
fail beside its own are listed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			selected, err := o.selected()
			if err != nil {
				return err
			}
			if o.sample {
				if o.seed == 0 {
					o.seed = rand.Int64N(1 << 31)
				}
				selected = sample(selected, o.seed)
				fmt.Fprintf(cmd.OutOrStdout(), "%d mutants, one of each clause, drawn by seed %d\n", len(selected), o.seed)
			}
			survived, err := breed(cmd.Context(), cmd.OutOrStdout(), o, selected)
			switch {
			case err != nil:
				return failure{err}
			case survived:
				return exitError{report.ExitNotConformant}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.root, "root", ".", "the checkout")
	f.StringVar(&o.out, "out", "out/mutants", "directory for the mutants' reports")
	f.StringSliceVar(&o.only, "mutant", nil, "only this mutant (repeatable)")
	f.BoolVar(&o.sample, "sample", false, "only one mutant of each clause, drawn by --seed")
	f.Int64Var(&o.seed, "seed", 0, "what --sample draws by; 0 draws a seed")
	f.BoolVar(&o.matrix, "matrix", false, "run every clause against every mutant")
	f.IntVar(&o.parallel, "parallel", 2, "mutants at once, each in a lab of its own")
	f.StringVar(&o.sandbox, "chromium-sandbox", "default", "as for run")
	return cmd
}

// fate is what became of a mutant.
type fate struct {
	mutant    *mutants.Mutant
	err       error
	killed    bool
	elsewhere []string
	took      time.Duration
}

func (f fate) verdict() string {
	switch {
	case f.err != nil:
		return "ERROR"
	case f.killed:
		return "killed"
	default:
		return "SURVIVED"
	}
}

// selected are the mutants that are to live. A patch that can't be read is a failure, an empty selection wrong usage.
func (o *mutantOptions) selected() ([]*mutants.Mutant, error) {
	dir := filepath.Join(o.root, "mutants")
	all, err := mutants.Load(os.DirFS(dir))
	if err != nil {
		return nil, failure{err}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no mutant in %s; --root must be the checkout", dir)
	}
	if len(o.only) == 0 {
		return all, nil
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(all, func(m *mutants.Mutant) bool { return m.Name == name }) {
			return nil, fmt.Errorf("--mutant names the unknown mutant %q", name)
		}
	}
	return slices.DeleteFunc(all, func(m *mutants.Mutant) bool { return !slices.Contains(o.only, m.Name) }), nil
}

// sample draws one mutant of each clause. The same seed draws the same ones.
func sample(all []*mutants.Mutant, seed int64) []*mutants.Mutant {
	byClause := make(map[string][]*mutants.Mutant)
	for _, m := range all {
		byClause[m.Clause] = append(byClause[m.Clause], m)
	}
	draw := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // no secret
	var drawn []*mutants.Mutant
	for _, clause := range slices.Sorted(maps.Keys(byClause)) {
		of := byClause[clause]
		drawn = append(drawn, of[draw.IntN(len(of))])
	}
	return drawn
}

// breed builds and runs every selected mutant and prints the matrix.
func breed(ctx context.Context, w io.Writer, o mutantOptions, all []*mutants.Mutant) (survived bool, err error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return false, fmt.Errorf("finding the checkout: %w", err)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return false, fmt.Errorf("making --out: %w", err)
	}
	fates := make([]fate, len(all))
	var running sync.WaitGroup
	var printing sync.Mutex
	slots := make(chan struct{}, max(1, o.parallel))
	for i, m := range all {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if fates[i] = (fate{mutant: m, err: ctx.Err()}); fates[i].err != nil {
				return
			}
			start := time.Now()
			fates[i] = live(ctx, root, o, m)
			fates[i].took = time.Since(start)
			printing.Lock()
			defer printing.Unlock()
			fmt.Fprintf(w, "%-8s  %s (%s) %.1fs\n", fates[i].verdict(), m.Name, m.Clause, fates[i].took.Seconds())
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return false, errors.New("the run was interrupted")
	}
	return summarize(w, fates, o.matrix)
}

// live builds one mutant and runs the suite against it.
func live(ctx context.Context, root string, o mutantOptions, m *mutants.Mutant) fate {
	f, err := meet(ctx, root, o, m)
	f.mutant, f.err = m, err
	return f
}

// meet runs the suite in a process of its own, since Ginkgo runs once in a process.
func meet(ctx context.Context, root string, o mutantOptions, m *mutants.Mutant) (f fate, err error) {
	dir, err := filepath.Abs(filepath.Join(o.out, m.Name))
	if err != nil {
		return fate{}, fmt.Errorf("finding the mutant's directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fate{}, fmt.Errorf("making the mutant's directory: %w", err)
	}
	// An earlier run's report must not speak for one that wrote none.
	if err := os.Remove(filepath.Join(dir, "report.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fate{}, fmt.Errorf("removing the mutant's earlier report: %w", err)
	}
	binary := filepath.Join(dir, "sidecar")
	if err := m.Build(ctx, root, binary); err != nil {
		return fate{}, err
	}
	// It is large, and can be built again from the patch.
	defer func() { err = errors.Join(err, os.Remove(binary)) }()
	self, err := os.Executable()
	if err != nil {
		return fate{}, fmt.Errorf("finding this program: %w", err)
	}
	args := []string{"run", "--target", "command", "--out", dir, "--chromium-sandbox", o.sandbox}
	if !o.matrix {
		args = append(args, "--clause", m.Clause)
	}
	cmd := exec.CommandContext(ctx, self, append(args, "--", binary)...)
	// A run that is interrupted puts its lab away, which takes a bounded time.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fate{}, fmt.Errorf("running the suite: %w", err)
	}
	if f, err = read(dir, m.Clause); err != nil {
		return fate{}, fmt.Errorf("%w\n%s", err, output)
	}
	return f, nil
}

// read finds in a report which clauses noticed the mutant.
func read(dir, clause string) (fate, error) {
	file, err := os.Open(filepath.Join(dir, "report.json"))
	if err != nil {
		return fate{}, fmt.Errorf("opening the mutant's report: %w", err)
	}
	defer file.Close()
	r, err := report.ReadJSON(file)
	if err != nil {
		return fate{}, fmt.Errorf("reading the mutant's report: %w", err)
	}
	if r.HarnessError != "" {
		return fate{}, errors.New(r.HarnessError)
	}
	var f fate
	for _, c := range r.Clauses {
		noticed := c.Executed() && c.Outcome != report.Pass
		switch {
		case c.ID == clause:
			f.killed = noticed
		case noticed:
			f.elsewhere = append(f.elsewhere, c.ID)
		}
	}
	if r.TargetNeverReady != "" {
		return fate{}, fmt.Errorf("the mutant never became ready: %s", r.TargetNeverReady)
	}
	return f, nil
}

func summarize(w io.Writer, fates []fate, matrix bool) (survived bool, err error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nmutant\tclause\tfate\talso killed by\tbreaks")
	killed := 0
	var errs []error
	for _, f := range fates {
		elsewhere := "-"
		if matrix && len(f.elsewhere) > 0 {
			elsewhere = strings.Join(f.elsewhere, ", ")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.mutant.Name, f.mutant.Clause, f.verdict(), elsewhere, f.mutant.Breaks)
		if f.err != nil {
			errs = append(errs, f.err)
		}
		if f.killed {
			killed++
		}
	}
	if err := table.Flush(); err != nil {
		return false, fmt.Errorf("printing the mutants: %w", err)
	}
	fmt.Fprintf(w, "\n%d of %d mutants killed by their own clause\n", killed, len(fates))
	return killed < len(fates), errors.Join(errs...)
}
