package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/deploy"
)

func newUndeploy() *cobra.Command {
	options := deploy.UndeployOptions{}
	output, deleteData := output{}, false
	command := &cobra.Command{
		Use:   "undeploy [DIR]",
		Short: "Uninstall an operator from a cluster",
		Long: `Uninstall the operator that "operon deploy" installed for the project in DIR (default: the current
directory). The CRDs, the custom resources and their children stay, unless you add --delete-data, or
type the operator's name when the command asks for it on a terminal. Custom resources are deleted
first, while the operator still runs and can clear their finalizers, and then the operator, the CRDs
and the namespace.

Objects that existed before the deployment, or that another deployment uses, stay, and are listed. So
does a namespace with other objects. With --delete-data, nothing is deleted if custom resources would
wait for an operator that is not running.`,
		Example: `  operon undeploy --dry-run            # print what would be removed
  operon undeploy --context staging
  operon undeploy --delete-data        # delete the CRDs and all custom resources, too`,
		Args: oneDirectory,
	}
	targetFlags(command, &options.Target)
	set := command.Flags()
	set.BoolVar(&deleteData, "delete-data", false, "delete the CRDs and all custom resources, too")
	gone(command, "keep-data", "is the default now; --delete-data is its opposite")
	set.BoolVar(&options.GiveUpFinalizers, "give-up-finalizers", false, "with --delete-data: remove finalizers that no controller clears")
	set.BoolVar(&options.DryRun, "dry-run", false, "print what would be removed, and remove nothing")
	output.addFlag(command, "the result", formatName)
	readsProjectFile(command, deploymentFlags(nil))
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := errors.Join(output.check(), resolveCluster(&options.Where)); err != nil {
			return err
		}
		if !deleteData && options.GiveUpFinalizers {
			return usageError{errors.New("--give-up-finalizers needs --delete-data: without it, no custom resource is deleted")}
		}
		options.KeepData = !deleteData
		if onTerminal() {
			options.Confirm = confirmDeletion(command.InOrStdin(), command.ErrOrStderr())
		}
		options.Dir, options.Progress, options.Quiet = directoryOf(args), command.ErrOrStderr(), global.quiet
		removal, err := deploy.Undeploy(command.Context(), options)
		if removal == nil {
			return err
		}
		return errors.Join(err, output.print(command.OutOrStdout(), forms{
			facts: removal, text: func(out io.Writer) error { return printRemoved(out, removal) }, names: nameLines(removal.Removed...),
		}))
	}
	return command
}

// confirmDeletion asks for the name of the operator before CRDs and custom resources are deleted. With any other answer, they
// are kept.
func confirmDeletion(in io.Reader, out io.Writer) func(deploy.DataDeletion) (bool, error) {
	return func(of deploy.DataDeletion) (bool, error) {
		fmt.Fprintf(out, "also delete CRD %s and %s? This cannot be undone.\nType %s to delete them, or press Enter to keep them: ",
			strings.Join(of.CRDs, ", CRD "), plural.Count(of.Objects, "custom resource"), of.Operator)
		line, err := bufio.NewReader(in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read the answer: %w", err)
		}
		return strings.TrimSpace(line) == of.Operator, nil
	}
}

func printRemoved(out io.Writer, removal *deploy.Removal) error {
	if removal.Absent {
		return nil // already reported
	}
	var lines []string
	verb := "removed"
	if removal.DryRun {
		verb = "would remove"
		for _, object := range removal.Removed {
			lines = append(lines, verb+" "+object)
		}
	}
	objects := "objects"
	if len(removal.Removed) == 1 {
		objects = "object"
	}
	lines = append(lines, fmt.Sprintf("%s %d %s of %s from %s, kept %d", verb, len(removal.Removed), objects, removal.Operator, removal.Cluster, len(removal.Kept)))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
