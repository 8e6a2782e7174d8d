package main

import (
	"github.com/spf13/cobra"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/spec"
)

func listCommand() *cobra.Command {
	var filter spec.Filter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the clauses with level, source and the specs that prove them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			contract, suite, err := loadContract(&lab.Lab{})
			if err != nil {
				return err
			}
			clauses, err := contract.Select(filter)
			if err != nil {
				return err
			}
			if err := spec.List(cmd.OutOrStdout(), clauses, suite.Proved(), asJSON); err != nil {
				return failure{err}
			}
			return nil
		},
	}
	selectionFlags(cmd, &filter)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// selectionFlags are the filters that list and run share.
func selectionFlags(cmd *cobra.Command, f *spec.Filter) {
	cmd.Flags().StringSliceVar(&f.Profiles, "profile", nil, "only clauses of this profile (repeatable)")
	cmd.Flags().StringSliceVar(&f.Sections, "section", nil, "only clauses of this section (repeatable)")
	cmd.Flags().StringSliceVar(&f.Clauses, "clause", nil, "only this clause (repeatable)")
}
