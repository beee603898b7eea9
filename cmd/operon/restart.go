package main

import (
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

func newRestart() *cobra.Command {
	target := deploy.Target{}
	command := &cobra.Command{
		Use:   "restart [DIR]",
		Short: "Restart an operator's pods one by one",
		Long: `Replace the pods of an operator that "operon deploy" installed for the project in DIR (default: the
current directory) one by one, and wait until the new ones are ready.`,
		Example: `  operon restart
  operon restart --context staging --timeout 5m`,
		Args: oneDirectory,
	}
	targetFlags(command, &target)
	readsProjectFile(command, deploymentFlags(nil))
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := resolveCluster(&target.Where); err != nil {
			return err
		}
		target.Dir, target.Progress, target.Quiet = directoryOf(args), command.ErrOrStderr(), global.quiet
		return deploy.Restart(command.Context(), target)
	}
	return command
}
