// Command sidecar is the reference browser sidecar: one process that runs a sandbox's Chromium, serves tools over MCP
// and keeps the browser inside its network rules.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set at build time: -ldflags "-X main.version=1.2.3".
var version string

// The exit codes.
const (
	exitDone  = 0 // a stop by a signal or by stop_at, check, --version
	exitFault = 1 // a wrong configuration, a failed start, a browser that died
	exitUsage = 2 // an unknown command or option
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// usageError is a command line that means nothing.
type usageError struct{ error }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var configFile string
	serving := func(cmd *cobra.Command, _ []string) error {
		return serve(cmd.Context(), configFile, stdin, stdout, stderr)
	}
	root := &cobra.Command{
		Use:               "sidecar",
		Short:             "A sandbox's browser, driven over MCP",
		Long:              serveText,
		Version:           buildVersion(),
		Args:              noArguments,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              serving,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	serveCommand := &cobra.Command{
		Use: "serve", Short: "Start the sidecar (the default)", Long: serveText, Args: noArguments, RunE: serving,
	}
	for _, cmd := range []*cobra.Command{root, serveCommand} {
		cmd.Flags().StringVar(&configFile, "config-file", "", "read the configuration from this file instead of standard input")
	}
	root.AddCommand(
		serveCommand,
		&cobra.Command{
			Use: "check", Short: "Print, as JSON, whether a Chromium is installed", Long: checkText, Args: noArguments,
			RunE: func(*cobra.Command, []string) error { return check(stdout) },
		},
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: noArguments,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintln(stdout, root.Version)
				return err
			},
		},
		installCommand(stdout),
	)
	// Usage names serve, whichever command was called wrongly (contract: cli.usage).
	root.SetUsageTemplate(root.UsageTemplate() + "{{if .HasParent}}\nCommands:{{range .Root.Commands}} {{.Name}}{{end}}\n{{end}}")
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitDone
	}
	// One line, whatever was joined into it.
	_, _ = fmt.Fprintf(stderr, "%s%s\n", linePrefix, strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.As(err, new(usageError)) {
		_, _ = io.WriteString(stderr, cmd.UsageString())
		return exitUsage
	}
	return exitFault
}

// noArguments refuses words behind a command; behind the root they are unknown commands.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasParent() {
		return usageError{fmt.Errorf("%s takes no arguments", cmd.Name())}
	}
	return usageError{fmt.Errorf("unknown command %q", args[0])}
}

// buildVersion is the version that the build was given, or that Go recorded for it.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "0.0.0-dev"
}
