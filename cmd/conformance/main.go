// Command conformance attacks a browser sidecar inside a sealed lab and says, clause by clause, whether it keeps the
// contract.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/browser-sidecar/conformance/report"
)

// version is set when the binary is built.
var version = "0.0.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// exitError carries the exit code of a command that has already said what there is to say.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// failure is an error of the suite itself or of its surroundings, as opposed to a wrong command line.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func execute(ctx context.Context, args []string) int {
	root := &cobra.Command{
		Use:   "conformance",
		Short: "Attacks a browser sidecar in a sealed lab and says, clause by clause, whether it keeps the contract",
		Long: `Attacks a browser sidecar in a sealed lab and says, clause by clause, whether it keeps the contract.

Exit codes: 0 conformant, 1 not conformant, 2 incomplete or an error of the suite, 3 the target never became ready,
64 wrong usage.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("name a command:\n\n%s", cmd.UsageString())
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(runCommand(), listCommand(), mutantsCommand(), labInitCommand(), shardCommand())
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit exitError
	var fail failure
	switch {
	case err == nil:
		return report.ExitConformant
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &fail):
		fmt.Fprintln(os.Stderr, "conformance:", err)
		return report.ExitIncomplete
	default:
		fmt.Fprintf(os.Stderr, "conformance: %v\nTry 'conformance --help'.\n", err)
		return report.ExitUsage
	}
}
