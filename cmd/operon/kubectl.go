package main

import "github.com/spf13/cobra"

func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl ARGUMENTS",
		Short: "Run kubectl against the local Kubernetes",
		Long: `Run kubectl against the local Kubernetes. It is the real kubectl with all commands
and flags; "operon kubectl help" prints its help. --cluster before the command
chooses the cluster (default $OPERON_CLUSTER, or "default").`,
		Example: `  operon kubectl get pods
  operon kubectl apply -f sample.yaml
  operon kubectl --cluster other get nodes`,
		DisableFlagParsing: true, // kubectl parses the flags
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" { // the help of this command, which needs no build
				return command.Help()
			}
			return become(command, "operon", append([]string{"kubectl"}, args...))
		},
	}
}
