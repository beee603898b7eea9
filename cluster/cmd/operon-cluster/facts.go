package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

func newStatus() *cobra.Command {
	command := &cobra.Command{
		Use:     "status",
		Short:   "Show one cluster",
		Example: `  operon cluster status -o json`,
		Args:    noArguments,
	}
	name, output := nameFlag(command), outputFlag(command, "the facts", formatName)
	command.RunE = func(command *cobra.Command, _ []string) error {
		facts, err := instance.Status(*name)
		if err != nil {
			return err
		}
		text := func() error { return printFacts(command.OutOrStdout(), facts) }
		return output.print(command.OutOrStdout(), facts, text, "cluster", facts.Name)
	}
	return command
}

func newList() *cobra.Command {
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all clusters",
		Example: `  operon cluster list`,
		Args:    noArguments,
	}
	output := outputFlag(command, "the list", formatName)
	command.RunE = func(command *cobra.Command, _ []string) error {
		list, err := instance.List()
		if err != nil {
			return err
		}
		var names []string
		for _, facts := range list {
			names = append(names, facts.Name)
		}
		return output.print(command.OutOrStdout(), list, func() error { return printList(command, list) }, "cluster", names...)
	}
	return command
}

func printList(command *cobra.Command, list []instance.Facts) error {
	if len(list) == 0 {
		fmt.Fprintln(command.OutOrStdout(), "no clusters; start one with `operon cluster up`")
		return nil
	}
	table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tVERSION\tNODES\tUP FOR\tSERVER")
	for _, facts := range list {
		if facts.State != instance.Running {
			fmt.Fprintf(table, "%s\t%s\t\t\t\t\n", facts.Name, facts.State)
			continue
		}
		if facts.Node == instance.Container {
			facts.Nodes++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", facts.Name, facts.State, facts.Version, facts.Nodes, age(facts.StartedAt), facts.Server)
	}
	return table.Flush()
}

func newReset() *cobra.Command {
	command := &cobra.Command{
		Use:   "reset",
		Short: "Restore the initial state of a cluster without restarting it",
		Long: `Restore the initial state of a cluster without restarting it: delete every object
created since, regardless of finalizers, and revert every changed object.`,
		Example: `  operon cluster reset`,
		Args:    noArguments,
	}
	name := nameFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		started := time.Now()
		if err := instance.Reset(command.Context(), *name); err != nil {
			return err
		}
		fmt.Fprintf(command.OutOrStdout(), "cluster %q is in its initial state again, after %d ms\n", *name, time.Since(started).Milliseconds())
		return nil
	}
	return command
}

func newKubeconfig() *cobra.Command {
	command := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print a cluster's kubeconfig",
		Example: `  operon cluster kubeconfig > dev.kubeconfig
  KUBECONFIG=$(operon cluster kubeconfig --path) helm list`,
		Args: noArguments,
	}
	name := nameFlag(command)
	path := command.Flags().Bool("path", false, "print the path of the file instead of its content")
	merge := command.Flags().Bool("merge", false, "add the cluster to your own kubeconfig, as its current context")
	command.RunE = func(command *cobra.Command, _ []string) error {
		facts, err := instance.StatusRunning(*name)
		if err != nil {
			return err
		}
		if *merge {
			return mergeKubeconfig(command, *name)
		}
		if *path {
			fmt.Fprintln(command.OutOrStdout(), facts.Kubeconfig)
			return nil
		}
		data, err := os.ReadFile(facts.Kubeconfig)
		if err != nil {
			return err
		}
		_, err = command.OutOrStdout().Write(data)
		return err
	}
	return command
}

func mergeKubeconfig(command *cobra.Command, name string) error {
	path, err := instance.Merge(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(command.OutOrStdout(), "your kubeconfig %s selects cluster %q\n", path, name)
	return nil
}

func newEnv() *cobra.Command {
	command := &cobra.Command{
		Use:     "env",
		Short:   "Print the shell command that points tools to a cluster",
		Example: `  eval "$(operon cluster env)"`,
		Args:    noArguments,
	}
	name, output := nameFlag(command), outputFlag(command, "the variables")
	command.RunE = func(command *cobra.Command, _ []string) error {
		facts, err := instance.StatusRunning(*name)
		if err != nil {
			return err
		}
		text := func() error {
			// A shell changes nothing between single quotes.
			_, err := fmt.Fprintf(command.OutOrStdout(), "export KUBECONFIG='%s'\n", strings.ReplaceAll(facts.Kubeconfig, "'", `'\''`))
			return err
		}
		return output.print(command.OutOrStdout(), map[string]string{"KUBECONFIG": facts.Kubeconfig}, text, "")
	}
	return command
}
