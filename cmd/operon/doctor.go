package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/prerequisites"
	"github.com/operon-framework/operon/local"
)

func newDoctor() *cobra.Command {
	output := ""
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine has what Operon needs",
		Long: `Check that this machine has what Operon needs: the Go toolchain, disk space, kernel limits, and what
container nodes need in addition. Nothing is changed. The exit code is 1 if something is missing
without which Operon does not work.

To check the code and the manifests of an operator, use "operon lint".`,
		Example: `  operon doctor
  operon doctor -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unexpected argument %q; to check the project in a directory, use \"operon lint %s\"", args[0], args[0])}
			}
			return nil
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "text", "`FORMAT` of the result: text or json")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := textOrJSON(output); err != nil {
			return err
		}
		home, err := local.Home()
		if err != nil {
			return err
		}
		checks := prerequisites.All(command.Context(), home)
		print := printChecks
		if output == "json" {
			print = func(out io.Writer, checks []prerequisites.Check) error { return printJSON(out, checks) }
		}
		if err := print(command.OutOrStdout(), checks); err != nil {
			return err
		}
		for _, check := range checks {
			if check.Status == prerequisites.Missing {
				return exitError{code: exitFindings}
			}
		}
		return nil
	}
	return command
}

func printChecks(out io.Writer, checks []prerequisites.Check) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, check := range checks {
		fmt.Fprintf(table, "%s\t%s\t%s\n", check.Name, check.Status, check.Found)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, check := range checks {
		if check.Fix != "" {
			fmt.Fprintf(out, "%s: %s (needed for %s)\n", check.Name, check.Fix, check.For)
		}
	}
	return nil
}
