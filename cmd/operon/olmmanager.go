package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/ship/lifecycle"
	"github.com/operon-framework/operon/internal/tools/olm/manager"
	"github.com/operon-framework/operon/internal/tools/up"
)

func newOLMUp() *cobra.Command {
	options := up.Options{Mode: up.Loop, Down: "operon olm down"}
	command := &cobra.Command{
		Use:   "up",
		Short: "Run the lifecycle manager on this machine",
		Long: `Run the lifecycle manager on this machine, with the permissions that it would have in the cluster. The
command starts the local Kubernetes, or uses the cluster of --kubeconfig or --context, and installs the
manager's CRDs, ServiceAccount and Roles.

Ctrl-C stops the manager and leaves the cluster and the operators in it as they are. "operon olm down"
removes everything, also the operators.`,
		Example: `  operon olm up
  operon olm up --context staging`,
		Args: noArguments,
	}
	whereFlags(command, &options.Where)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := resolveCluster(&options.Where); err != nil {
			return err
		}
		if !options.Where.IsLocal() {
			if err := lifecycle.Alone(command.Context(), options.Where); err != nil {
				return err
			}
		}
		found, err := manager.Open(command.Context(), func(doing string) { fmt.Fprintln(progressTo(command.ErrOrStderr()), doing) })
		if err != nil {
			return err
		}
		options.Dir, options.Build = found.Dir, found.Build
		look(&options)
		return up.Run(command.Context(), options)
	}
	return command
}

func newOLMDown() *cobra.Command {
	options := up.DownOptions{}
	command := &cobra.Command{
		Use:   "down",
		Short: "Remove the lifecycle manager that up installed, and its operators",
		Long: `Remove everything that "operon olm up" installed: all operators, Subscriptions and catalogs, the manager's
CRDs, Roles, ServiceAccount and namespace. The CRDs of operators and their custom resources stay.`,
		Example: `  operon olm down`,
		Args:    noArguments,
	}
	whereFlags(command, &options.Where)
	command.Flags().DurationVar(&options.Timeout, "timeout", up.DefaultTimeout, "time limit of the command")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := resolveDown(&options); err != nil {
			return err
		}
		found, err := manager.Open(command.Context(), func(doing string) { fmt.Fprintln(progressTo(command.ErrOrStderr()), doing) })
		if err != nil {
			return err
		}
		options.Dir, options.Out = found.Dir, command.OutOrStdout()
		return up.Down(command.Context(), options)
	}
	return command
}

func newOLMInstall() *cobra.Command {
	options, output := lifecycle.Options{}, output{}
	command := &cobra.Command{
		Use:   "install",
		Short: "Install the lifecycle manager in a cluster",
		Long: `Install the lifecycle manager in a cluster, as one Deployment with its CRDs and permissions. What will be
created is printed first. A dry run of all objects comes before the first write.

The image is the one that --image names. Without it, the image is made of the program operon-olm, without
Docker, and pushed to the registry of --push, or loaded into the nodes of a local cluster that runs
containers.`,
		Example: `  operon olm install --context staging --push registry.example.com/tools/operon-olm:1.0 --dry-run
  operon olm install --context staging --image registry.example.com/tools/operon-olm:1.0`,
		Args: noArguments,
	}
	whereFlags(command, &options.Where)
	set := command.Flags()
	set.StringVar(&options.Image, "image", "", "existing `IMAGE` of the manager")
	set.StringVar(&options.Push, "push", "", "make the image and push it as `NAME`")
	set.StringVar(&options.Memory, "memory", lifecycle.DefaultMemory, "memory limit of the pod")
	set.StringVarP(&options.Namespace, "namespace", "n", "", "namespace of the manager (default olm-system)")
	set.DurationVar(&options.Timeout, "timeout", deploy.DefaultTimeout, "time limit of the command")
	set.BoolVar(&options.DryRun, "dry-run", false, "print what would be done, and write nothing")
	output.addFlag(command, "the result", formatName)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := errors.Join(output.check(), resolveCluster(&options.Where)); err != nil {
			return err
		}
		if options.Image != "" && options.Push != "" {
			return usageError{errors.New("--push is for an image that is made, and --image names an existing one: use one or the other")}
		}
		options.Progress, options.Quiet = command.ErrOrStderr(), global.quiet
		options.Foretold = func(result *deploy.Result) error {
			_, err := fmt.Fprintln(command.ErrOrStderr(), strings.Join(changed(result), "\n"))
			return err
		}
		result, err := lifecycle.Install(command.Context(), options)
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{
			facts: result, text: func(out io.Writer) error { return printDeployed(out, result) }, names: nameLines(result.Created...),
		})
	}
	return command
}

func newOLMUninstall() *cobra.Command {
	options, output, deleteCRDs := lifecycle.UninstallOptions{}, output{}, false
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Uninstall the lifecycle manager from a cluster",
		Long: `Uninstall the lifecycle manager that "operon olm install" installed. The command refuses to do so while
operators are installed: remove them with "operon olm remove" first. With --hand-back, the manager is stopped
and its operators become those of the Operator Lifecycle Manager again, which you start afterwards; they keep
running all the time. With --keep-operators, they keep running, but nothing repairs or upgrades them.

The manager's CRDs, with catalogs and groups, stay, unless you add --delete-crds.`,
		Example: `  operon olm uninstall --context staging --dry-run
  operon olm uninstall --context staging --hand-back
  operon olm uninstall --context staging --delete-crds`,
		Args: noArguments,
	}
	whereFlags(command, &options.Where)
	set := command.Flags()
	set.BoolVar(&options.KeepOperators, "keep-operators", false, "uninstall the manager although operators are installed")
	set.BoolVar(&options.HandBack, "hand-back", false, "make the operators those of the Operator Lifecycle Manager again")
	set.BoolVar(&deleteCRDs, "delete-crds", false, "delete the manager's CRDs with all catalogs and groups, too")
	set.BoolVar(&options.DryRun, "dry-run", false, "print what would be removed, and remove nothing")
	set.StringVarP(&options.Namespace, "namespace", "n", "", "namespace of the manager (default olm-system)")
	set.DurationVar(&options.Timeout, "timeout", deploy.DefaultTimeout, "time limit of the command")
	output.addFlag(command, "the result", formatName)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := errors.Join(output.check(), resolveCluster(&options.Where)); err != nil {
			return err
		}
		switch {
		case options.KeepOperators && deleteCRDs:
			return usageError{errors.New("--delete-crds deletes the operators, which --keep-operators keeps: use one or the other")}
		case options.HandBack && deleteCRDs:
			return usageError{errors.New("--delete-crds deletes the operators, which --hand-back keeps: use one or the other")}
		case options.HandBack && options.KeepOperators:
			return usageError{errors.New("--hand-back keeps the operators, and leaves them to another manager: use it without --keep-operators")}
		}
		options.KeepData, options.Progress, options.Quiet = !deleteCRDs, command.ErrOrStderr(), global.quiet
		removal, err := lifecycle.Uninstall(command.Context(), options)
		if removal == nil {
			return err
		}
		return errors.Join(err, output.print(command.OutOrStdout(), forms{
			facts: removal, text: func(out io.Writer) error { return printRemoved(out, removal) }, names: nameLines(removal.Removed...),
		}))
	}
	return command
}
