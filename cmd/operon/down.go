package main

import (
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/up"
)

func newDown() *cobra.Command {
	options := up.DownOptions{}
	command := &cobra.Command{
		Use:   "down [DIR]",
		Short: "Remove all that up put into the cluster",
		Long: `Remove from the cluster all that "operon up" put there for the project in DIR (by
default the current folder): its samples and all other objects of its kinds, the
CustomResourceDefinitions, the Roles, the ServiceAccount and the namespace. What was
there before stays.

Objects that wait for a finalizer get the operator that was built last run for them.
Without --name, --kubeconfig and --context the cluster is the one where up ran last.`,
		Example: `  operon down examples/memcached
  operon down --timeout 5m`,
		Args: oneFolder,
		RunE: func(command *cobra.Command, args []string) error {
			if err := oneCluster(options.Where); err != nil {
				return err
			}
			options.Dir, options.Out = folderOf(args), command.OutOrStdout()
			return up.Down(command.Context(), options)
		},
	}
	whereFlags(command, &options.Where)
	command.Flags().DurationVar(&options.Timeout, "timeout", up.DefaultTimeout, "how long it may take")
	return command
}
