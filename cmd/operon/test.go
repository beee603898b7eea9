package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/projectfile"
	"github.com/operon-framework/operon/internal/tools/projecttest"
	"github.com/operon-framework/operon/internal/tools/up"
)

func newTest() *cobra.Command {
	var options projecttest.Options
	output := output{}
	command := &cobra.Command{
		Use:   "test [DIR]",
		Short: "Test an operator project of Helm charts or Ansible roles",
		Long: `Test the operator project in DIR (default: the current directory), which has a watches.yaml of Helm
charts or Ansible roles, on the local cluster "test", so that it can run beside "operon up".

The command installs the project under another name, as "operon up" does, and runs the operator on this
machine as its ServiceAccount. If the project has a scenario of molecule, its playbooks run: prepare,
converge, side_effect, verify and cleanup. Molecule is not needed. Then each sample is applied, and must
become ready; the operator is restarted and runs everything again, which must change nothing; and each
sample is deleted, with everything that the operator created for it. At the end, everything is removed.

The exit code is 1 if a step failed, and 2 if the project could not be tested.`,
		Example: `  operon test
  operon test examples/mysqlcluster-ansible --context staging
  operon test --scenario upgrade -o json     # the playbooks in molecule/upgrade`,
		Args: oneDirectory,
	}
	whereFlags(command, &options.Where)
	set := command.Flags()
	set.Lookup("cluster").Usage = fmt.Sprintf("local cluster (default $OPERON_CLUSTER, or %q)", testCluster)
	set.StringVar(&options.Scenario, "scenario", "", `scenario, a directory in molecule (default "default", if it exists)`)
	set.DurationVar(&options.Timeout, "timeout", projecttest.DefaultTimeout, "time limit of each step")
	argFlag(set, &options.Args)
	output.addFlag(command, "the result")
	readsProjectFile(command, projectfile.Excluded{"cluster": {"kubeconfig", "context"}, "arg": nil})
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if err := resolveTest(&options.Where); err != nil {
			return err
		}
		options.Dir = directoryOf(args)
		return runTest(command.Context(), command.OutOrStdout(), options, output)
	}
	return command
}

// testCluster is the default cluster of `operon test`. Go tests use the one with the same name. A project that `operon up` runs cannot be tested
// in the same cluster.
const testCluster = "test"

// resolveTest is resolveCluster with another default.
func resolveTest(where *up.Where) error {
	if err := resolveCluster(where); err != nil {
		return err
	}
	if where.IsLocal() {
		where.Name = cmp.Or(where.Name, testCluster)
	}
	if where.Name == testCluster {
		where.TTL = 10 * time.Minute // as for Go tests
	}
	return nil
}

// runTest tests a project and prints the report. It returns an error with the exit code.
func runTest(ctx context.Context, out io.Writer, options projecttest.Options, output output) error {
	if global.quiet {
		nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer nowhere.Close()
		options.Progress = nowhere
	}
	report, err := projecttest.Run(ctx, options)
	if report == nil {
		return err
	}
	err = errors.Join(err, output.print(out, forms{facts: report, text: report.Text}))
	if err == nil && report.Failed() {
		return exitError{code: exitFindings}
	}
	return err
}
