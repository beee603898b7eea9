package main

import (
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

func newRestart() *cobra.Command {
	target := deploy.Target{}
	command := &cobra.Command{
		Use:   "restart [DIR]",
		Short: "Replace an operator's pods, one after the other",
		Long: `Replace the pods that "operon deploy" runs for the project in DIR (by default the current folder),
one after the other, and wait until the new ones are ready.`,
		Example: `  operon restart
  operon restart --context staging --timeout 5m`,
		Args: oneFolder,
	}
	targetFlags(command, &target)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := oneCluster(target.Where); err != nil {
			return err
		}
		target.Dir, target.Progress = folderOf(args), command.ErrOrStderr()
		return deploy.Restart(command.Context(), target)
	}
	return command
}
