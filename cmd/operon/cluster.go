package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/local"
)

func newCluster() *cobra.Command {
	return &cobra.Command{
		Use:   "cluster VERB",
		Short: "Start, inspect and stop local Kubernetes clusters",
		Long: `Start, inspect and stop local Kubernetes clusters: etcd, the API server, the
controllers, the scheduler and simulated nodes in one process, ready in about a second.

  up          start a cluster, or find it running
  down        stop a cluster and remove what it left
  status      describe a cluster
  list        describe all clusters
  reset       empty a cluster to its first state
  kubeconfig  print the kubeconfig of a cluster
  logs        print the log of a cluster
  env         print shell commands that point kubectl and other tools to a cluster

Each takes --name, by default "default"; "operon cluster VERB --help" tells its flags.`,
		Example: `  operon cluster up
  operon cluster up --name big --nodes 100
  operon cluster up --node container
  operon cluster down`,
		DisableFlagParsing: true, // they are operon-cluster's to read
		RunE: func(command *cobra.Command, args []string) error {
			if asksForHelp(args) {
				return command.Help()
			}
			return become(command, "operon cluster", args)
		},
	}
}

// asksForHelp tells whether all that is asked is this command's own help, for which nothing must be
// built.
func asksForHelp(args []string) bool {
	return len(args) == 0 || args[0] == "-h" || args[0] == "--help"
}

// become replaces this process by operon-cluster, which then gets the signals and gives the exit
// code.
func become(command *cobra.Command, name string, args []string) error {
	binary, err := local.Binary(command.Context(), os.Stderr)
	if err != nil {
		return err
	}
	if err := syscall.Exec(binary, append([]string{name}, args...), os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", binary, err)
	}
	return nil
}
