package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

func newLogs() *cobra.Command {
	options := deploy.LogsOptions{}
	command := &cobra.Command{
		Use:   "logs [DIR]",
		Short: "Print the logs of an operator's pods",
		Long: `Print the logs of all pods that "operon deploy" runs for the project in DIR (by default the
current folder), each line after the name of its pod. The one that leads has a star.`,
		Example: `  operon logs -f
  operon logs --tail 20 --context staging
  operon logs --previous               # before the last restart`,
		Args: oneFolder,
	}
	targetFlags(command, &options.Target)
	set := command.Flags()
	set.BoolVarP(&options.Follow, "follow", "f", false, "go on until Ctrl-C, also with pods that come later")
	set.Int64Var(&options.Tail, "tail", 0, "how many lines of each pod are shown at first, 0 for all")
	set.BoolVar(&options.Previous, "previous", false, "show the containers before their last restart")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := oneCluster(options.Where); err != nil {
			return err
		}
		if options.Tail < 0 {
			return usageError{fmt.Errorf("--tail %d: want a number of lines, or 0 for all", options.Tail)}
		}
		if options.Follow && options.Previous {
			return usageError{fmt.Errorf("--previous is of containers that have ended: leave out --follow")}
		}
		options.Dir, options.Progress, options.Out = folderOf(args), command.ErrOrStderr(), command.OutOrStdout()
		return deploy.Logs(command.Context(), options)
	}
	return command
}
