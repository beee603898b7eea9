package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

func newDown() *cobra.Command {
	command := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove all its files",
		Long: `Stop a cluster and remove its process, files and sockets, and its context if
--merge added one. The directory of --data is kept.`,
		Example: `  operon cluster down
  operon cluster down --all`,
		Args: noArguments,
	}
	name := nameFlag(command)
	all := command.Flags().Bool("all", false, "stop all clusters")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if *all {
			return downAll(command)
		}
		return down(command, *name)
	}
	return command
}

func downAll(command *cobra.Command) error {
	list, err := instance.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(command.OutOrStdout(), "no clusters")
	}
	for _, facts := range list {
		err = errors.Join(err, down(command, facts.Name))
	}
	return err
}

func down(command *cobra.Command, name string) error {
	facts, err := instance.Down(command.Context(), name)
	if err != nil {
		return err
	}
	fmt.Fprintf(command.OutOrStdout(), "cluster %q is down", name)
	if facts.Data != "" {
		fmt.Fprintf(command.OutOrStdout(), "; its state is kept in %s", facts.Data)
	}
	fmt.Fprintln(command.OutOrStdout())
	return nil
}
