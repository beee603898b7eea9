package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/projectfile"
)

// readsProjectFile sets the flags of a command that are not on the command line from operon.yaml in the directory of the
// project: the argument of the command, or the current directory.
func readsProjectFile(command *cobra.Command, flags projectfile.Excluded) {
	readsProjectFileIn(command, directoryOf, flags)
}

// readsProjectFileIn is readsProjectFile with a function that returns the directory of the project for the arguments of the
// command.
func readsProjectFileIn(command *cobra.Command, dir func([]string) string, flags projectfile.Excluded) {
	command.PreRunE = func(command *cobra.Command, args []string) error {
		settings, err := projectfile.Read(dir(args))
		if err != nil {
			return err
		}
		if os.Getenv(clusterVariable) != "" { // the variable takes precedence over the file
			delete(flags, "cluster")
		}
		return settings.Fill(command.Flags(), flags)
	}
}

// here returns the directory of the project for a command whose arguments are not a directory.
func here([]string) string { return "." }

// deploymentFlags returns the flags of all commands for deployments, and others.
func deploymentFlags(others projectfile.Excluded) projectfile.Excluded {
	flags := projectfile.Excluded{"cluster": {"kubeconfig", "context"}, "namespace": nil, "main": nil}
	for flag, excluded := range others {
		flags[flag] = excluded
	}
	return flags
}

// clusterOfProject sets $OPERON_CLUSTER for operon-cluster to the cluster in operon.yaml in the current directory.
func clusterOfProject() error {
	settings, err := projectfile.Read(".")
	if err != nil {
		return err
	}
	name, _ := settings.Flag("cluster")
	return os.Setenv(clusterVariable, cmp.Or(os.Getenv(clusterVariable), name))
}
