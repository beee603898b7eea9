package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/bundletest"
)

func newBundleTest() *cobra.Command {
	options, output, mode := bundletest.Options{}, output{}, ""
	command := &cobra.Command{
		Use:   "test BUNDLE",
		Short: "Test a bundle on a local cluster, through the lifecycle manager",
		Long: `Test the bundle in a directory on a new local cluster, and remove the cluster:

  lint         the bundle has no errors
  install      the lifecycle manager installs it from a catalog
  samples      the samples in alm-examples are created and become ready
  upgrade      with --from: the samples of the previous version survive the upgrade, and so do their pods
  rollback     with --from: whether the CRDs of the previous version fit the stored objects
  delete       all custom resources can be deleted while the operator runs
  permissions  no request of the operator was refused; permissions that were not needed are listed
  uninstall    the operator and its CRDs are removed, and nothing is left
  prove        with --prove: the operator is reliable, as "operon prove" finds out by fault injection

The operator runs in pods on a container node, which needs Linux, root, runc and nft. Its image comes from
a registry that this machine can reach, or from a file that --load names. With --run, a shell command runs the operator on this machine instead, as
the ServiceAccount of its Deployment, with the environment variables and the arguments of its container.

A stage fails when nothing has changed for the time in --idle-timeout. The exit code is 1 if a stage
failed, and 2 if the bundle could not be tested.`,
		Example: `  operon bundle test bundle --run bin/manager
  operon bundle test bundle --from ../v1.1.0/bundle --run bin/manager --from-run ../v1.1.0/bin/manager
  operon bundle test bundle --run bin/manager --prove 2m
  operon bundle test bundle -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("want one directory with a bundle, got %d", len(args))}
			}
			return nil
		},
	}
	set := command.Flags()
	set.StringVar(&options.From, "from", "", "`DIR` of the bundle of the previous version, which is installed first and upgraded")
	set.StringArrayVar(&options.With, "with", nil, "`DIR` of bundles that the bundle depends on; can be repeated")
	set.StringVar(&options.Run, "run", "", `shell `+"`COMMAND`"+` that runs the operator on this machine; the arguments of its container replace "$@", or are appended`)
	set.StringVar(&options.FromRun, "from-run", "", "shell `COMMAND` that runs the previous version (default: that of --run)")
	set.StringArrayVar(&options.Archives, "load", nil, "`FILE` with an image, as \"operon build --tar\" writes it, that is loaded into the node; can be repeated")
	set.StringVar(&mode, "install-mode", "", "install `MODE` (default: the first one that the bundle supports, of OwnNamespace, SingleNamespace, MultiNamespace, AllNamespaces)")
	set.DurationVar(&options.Idle, "idle-timeout", bundletest.DefaultIdle, "time without any progress after which a stage fails")
	set.DurationVar(&options.Prove, "prove", 0, "with --run: inject faults, and start test cases with them for this time")
	set.BoolVar(&options.Keep, "keep", false, "keep the cluster")
	output.addFlag(command, "the result")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		switch {
		case options.Idle <= 0:
			return usageError{errors.New("--idle-timeout must be greater than 0")}
		case options.Prove < 0, options.Prove > 0 && options.Run == "":
			return usageError{errors.New("--prove is a time in which the operator that --run starts is tested: it must be greater than 0, and needs --run")}
		case options.Run != "" && len(options.Archives) > 0:
			return usageError{errors.New("--load is for pods, and with --run the operator runs in none: use one or the other")}
		case options.FromRun != "" && (options.From == "" || options.Run == ""):
			return usageError{errors.New("--from-run is the command of the previous version: it needs --from and --run")}
		}
		options.Dir, options.Mode, options.Prover = args[0], bundle.InstallMode(mode), proveBundle
		if !global.quiet {
			options.Progress = command.ErrOrStderr()
		}
		report, err := bundletest.Run(command.Context(), options)
		if err != nil {
			return err
		}
		if err := output.print(command.OutOrStdout(), forms{facts: report, text: report.Text}); err != nil {
			return err
		}
		if report.Failed() {
			return exitError{code: exitFindings}
		}
		return nil
	}
	return command
}
