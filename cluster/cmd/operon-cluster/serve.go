package main

import (
	"flag"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

// newServe returns the command with which up starts the process of a cluster.
func newServe() *cobra.Command {
	command := &cobra.Command{
		Use:    instance.ServeVerb,
		Short:  "Run a cluster in this process",
		Hidden: true,
		Args:   noArguments,
	}
	name := nameFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		klog.InitFlags(flag.NewFlagSet("klog", flag.ContinueOnError))
		return instance.Serve(command.Context(), *name, instance.Ready())
	}
	return command
}
