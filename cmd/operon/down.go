package main

import (
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/up"
)

func newDown() *cobra.Command {
	options := up.DownOptions{}
	command := &cobra.Command{
		Use:   "down [DIR]",
		Short: "Remove everything that up installed",
		Long: `Remove everything that "operon up" installed for the project in DIR (default: the
current directory): its samples and all other objects of its kinds, the CRDs, the
Roles, the ServiceAccount and the namespace. Objects that existed before stay.

If objects wait for a finalizer, the operator that was built last is run for them.
Without --cluster, --kubeconfig and --context, the cluster is the one where up ran last.`,
		Example: `  operon down examples/memcached
  operon down --timeout 5m`,
		Args: oneDirectory,
		RunE: func(command *cobra.Command, args []string) error {
			if err := resolveDown(&options); err != nil {
				return err
			}
			options.Dir, options.Out = directoryOf(args), command.OutOrStdout()
			return up.Down(command.Context(), options)
		},
	}
	whereFlags(command, &options.Where)
	command.Flags().DurationVar(&options.Timeout, "timeout", up.DefaultTimeout, "time limit of the command")
	return command
}
