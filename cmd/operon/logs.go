package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

func newLogs() *cobra.Command {
	options, tail := deploy.LogsOptions{}, int64(-1)
	command := &cobra.Command{
		Use:   "logs [DIR]",
		Short: "Print the logs of an operator's pods",
		Long: `Print the logs of all pods of an operator that "operon deploy" installed for the project in DIR
(default: the current directory). Each line starts with the name of its pod; the leader has a star.`,
		Example: `  operon logs -f
  operon logs --tail 20 --context staging
  operon logs --since 10m --timestamps -c istio-proxy
  operon logs --previous               # before the last restart`,
		Args: oneDirectory,
	}
	placeFlags(command, &options.Target)
	set := command.Flags()
	set.BoolVarP(&options.Follow, "follow", "f", false, "follow the logs until Ctrl-C, including those of new pods")
	set.Int64Var(&tail, "tail", -1, "`LINES` of each pod to show first; -1: all")
	set.DurationVar(&options.Since, "since", 0, "show only lines that are not older than this `DURATION`, such as 10m; 0: all")
	set.StringVarP(&options.Container, "container", "c", "", "`CONTAINER` of the pods (default: the operator's)")
	set.BoolVar(&options.Timestamps, "timestamps", false, "show the time at which each line was written")
	set.BoolVar(&options.Previous, "previous", false, "show the logs of the containers before their last restart")
	readsProjectFile(command, deploymentFlags(nil))
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := resolveCluster(&options.Where); err != nil {
			return err
		}
		if tail < -1 {
			return usageError{fmt.Errorf("--tail %d: want a number of lines, or -1 for all", tail)}
		}
		if options.Since < 0 {
			return usageError{fmt.Errorf("--since %s: want a duration such as 10m, or 0 for all lines", options.Since)}
		}
		if options.Follow && options.Previous {
			return usageError{fmt.Errorf("--previous is about containers that have ended: remove --follow")}
		}
		if tail >= 0 {
			options.Tail = &tail
		}
		options.Dir, options.Progress, options.Out = directoryOf(args), command.ErrOrStderr(), command.OutOrStdout()
		return deploy.Logs(command.Context(), options)
	}
	return command
}
