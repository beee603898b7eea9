package main

import "github.com/spf13/cobra"

func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl ARGUMENTS",
		Short: "Run kubectl on the local Kubernetes",
		Long: `Run kubectl on the local Kubernetes. It is the real kubectl, with all its verbs
and flags ("operon kubectl help" prints its own help), pointed to the local cluster.
--name in front of its verb chooses the cluster, by default "default".`,
		Example: `  operon kubectl get pods
  operon kubectl apply -f sample.yaml
  operon kubectl --name other get nodes`,
		DisableFlagParsing: true, // they are kubectl's to read
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" { // this command's own, for which nothing must be built
				return command.Help()
			}
			return become(command, "operon", append([]string{"kubectl"}, args...))
		},
	}
}
