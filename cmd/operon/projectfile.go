package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/projectfile"
)

// readsProjectFile sets the flags of a command that are not on the command line from operon.yaml in the project's
// directory: the argument of the command, or the current directory.
func readsProjectFile(command *cobra.Command, flags projectfile.Excluded) {
	readsProjectFileIn(command, directoryOf, flags)
}

// readsProjectFileIn is readsProjectFile for a command whose project's directory is what dir makes of its arguments.
func readsProjectFileIn(command *cobra.Command, dir func([]string) string, flags projectfile.Excluded) {
	command.PreRunE = func(command *cobra.Command, args []string) error {
		settings, err := projectfile.Read(dir(args))
		if err != nil {
			return err
		}
		if os.Getenv(clusterVariable) != "" { // it takes precedence over the file
			delete(flags, "cluster")
		}
		return settings.Fill(command.Flags(), flags)
	}
}

// here is the project's directory of a command whose arguments name something else.
func here([]string) string { return "." }

// deploymentFlags are those of commands that work on a deployment, and others.
func deploymentFlags(others projectfile.Excluded) projectfile.Excluded {
	flags := projectfile.Excluded{"cluster": {"kubeconfig", "context"}, "namespace": nil, "main": nil}
	for flag, excluded := range others {
		flags[flag] = excluded
	}
	return flags
}

// clusterOfProject sets $OPERON_CLUSTER for operon-cluster to the cluster that operon.yaml in the current directory names.
func clusterOfProject() error {
	settings, err := projectfile.Read(".")
	if err != nil {
		return err
	}
	name, _ := settings.Flag("cluster")
	return os.Setenv(clusterVariable, cmp.Or(os.Getenv(clusterVariable), name))
}
