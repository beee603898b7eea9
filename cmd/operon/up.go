package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/up"
)

func newUp() *cobra.Command {
	options := up.Options{}
	once, output := false, ""
	command := &cobra.Command{
		Use:   "up [DIR]",
		Short: "Run an operator's project, and keep it running while you edit it",
		Long: `Run the operator's project in DIR (by default the current folder), and keep it
running while you edit it.

The local Kubernetes is started, or a cluster taken by --kubeconfig or --context.
The project's CustomResourceDefinitions, its ServiceAccount and its Roles are put
there, the operator is built and runs on this machine under that ServiceAccount's
identity, and the samples are applied. On a terminal you see the custom resources
and all that the operator makes of them. A change of a source builds and starts the
operator again, a change under config/ is applied.

Ctrl-C stops the operator and leaves the cluster as it is; "operon down" removes
what was made.`,
		Example: `  operon up examples/memcached
  operon up --once -o json            # for scripts: exit when every sample is ready
  operon up --context staging         # in a cluster of your own kubeconfig`,
		Args: oneFolder,
	}
	whereFlags(command, &options.Where)
	set := command.Flags()
	set.StringVar(&options.Main, "main", "", "folder of the main package, where the project has several")
	set.BoolVar(&once, "once", false, "exit when every sample is ready, with its final state")
	set.DurationVar(&options.Timeout, "timeout", up.DefaultTimeout, "with --once: how long the samples may take, from the operator's start")
	set.BoolVar(&options.UnsafeCRDs, "unsafe-crds", false, "apply changed CustomResourceDefinitions even if they break stored objects")
	set.StringVarP(&output, "output", "o", "text", "with --once: how to print the final state, text or json")
	command.RunE = func(command *cobra.Command, args []string) error {
		options.Dir = folderOf(args)
		options.Mode = up.Loop
		if once {
			options.Mode = up.Once
		}
		if options.Output = up.Format(output); options.Output != up.Text && options.Output != up.JSON {
			return usageError{fmt.Errorf("-o %s: want text or json", output)}
		}
		if !once && (command.Flags().Changed("output") || command.Flags().Changed("timeout")) {
			return usageError{fmt.Errorf("--output and --timeout go with --once")}
		}
		if err := oneCluster(options.Where); err != nil {
			return err
		}
		return up.Run(command.Context(), options)
	}
	return command
}

// whereFlags add the flags that choose a cluster.
func whereFlags(command *cobra.Command, where *up.Where) {
	set := command.Flags()
	set.StringVar(&where.Name, "name", "", `name of a local cluster (default "default")`)
	set.StringVar(&where.Kubeconfig, "kubeconfig", "", "kubeconfig of another cluster")
	set.StringVar(&where.Context, "context", "", "context of the kubeconfig, by default its current one")
}

// oneCluster refuses flags that name two clusters.
func oneCluster(where up.Where) error {
	if where.Name != "" && !where.IsLocal() {
		return usageError{errors.New("--name is for local clusters, --kubeconfig and --context are for others: give one or the other")}
	}
	return nil
}
