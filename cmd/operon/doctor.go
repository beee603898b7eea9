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
	output := output{}
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
	output.addFlag(command, "the result")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := output.check(); err != nil {
			return err
		}
		home, err := local.Home()
		if err != nil {
			return err
		}
		checks := prerequisites.All(command.Context(), home, local.Compiled())
		text := func(out io.Writer) error { return printChecks(out, checks) }
		if err := output.print(command.OutOrStdout(), forms{facts: checks, text: text}); err != nil {
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
