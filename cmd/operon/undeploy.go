package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

func newUndeploy() *cobra.Command {
	options := deploy.UndeployOptions{}
	output := ""
	command := &cobra.Command{
		Use:   "undeploy [DIR]",
		Short: "Remove an operator from a cluster, with its custom resources",
		Long: `Remove what "operon deploy" brought into a cluster for the project in DIR (by default the current
folder). Custom resources go first, while the operator runs and clears their finalizers; then the
operator and what it made for itself, the CustomResourceDefinitions and the namespace.

What was there before, what another deployment works with, and a namespace that holds things of
others stay, and are named. Nothing is removed while custom resources would wait for an operator
that does not run.`,
		Example: `  operon undeploy --dry-run            # what would be removed
  operon undeploy --context staging
  operon undeploy --keep-data          # the definitions and custom resources stay`,
		Args: oneFolder,
	}
	targetFlags(command, &options.Target)
	set := command.Flags()
	set.BoolVar(&options.KeepData, "keep-data", false, "keep the CustomResourceDefinitions and the custom resources")
	set.BoolVar(&options.GiveUpFinalizers, "give-up-finalizers", false, "remove finalizers from custom resources that no controller clears")
	set.BoolVar(&options.DryRun, "dry-run", false, "tell what would be removed, and remove nothing")
	set.StringVarP(&output, "output", "o", "text", "how to print the result, text or json")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := errors.Join(textOrJSON(output), oneCluster(options.Where)); err != nil {
			return err
		}
		if options.KeepData && options.GiveUpFinalizers {
			return usageError{errors.New("--keep-data leaves finalizers as they are: leave out --give-up-finalizers")}
		}
		options.Dir, options.Progress = folderOf(args), command.ErrOrStderr()
		removal, err := deploy.Undeploy(command.Context(), options)
		if removal == nil {
			return err
		}
		print := printRemoved
		if output == "json" {
			print = func(out io.Writer, removal *deploy.Removal) error { return printJSON(out, removal) }
		}
		return errors.Join(err, print(command.OutOrStdout(), removal))
	}
	return command
}

func printRemoved(out io.Writer, removal *deploy.Removal) error {
	if removal.Absent {
		return nil // which was said
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
