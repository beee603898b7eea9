package main

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/explain"
	"github.com/operon-framework/operon/internal/tools/projectfile"
)

func newExplain() *cobra.Command {
	options := explain.Options{}
	output := output{}
	command := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Explain an object's state and its recent reconciles",
		Long: `Explain an object's state: whether it is ready, what it waits for, which of the objects
that it owns causes the problem, what triggered the last reconcile, what that reconcile
did, and when the next one is due.

KIND is a kind, a resource or a short name, with its group if several groups have it:
Memcached, memcacheds, memcached.cache.example.com.

State and events come from the cluster, for any operator. The triggers of reconciles come
from the operator's debug endpoint, if it is built with Operon. An operator that "operon up"
runs, or that runs on this machine with the default port, is found; for others, set
--endpoint to the address of its health probes. Information that
could not be read is listed at the end.`,
		Example: `  operon explain memcached/example-memcached
  operon explain memcached/example-memcached -n team-a -o json
  kubectl --context staging -n memcached-operator-system port-forward deploy/memcached-operator 8081 &
  operon explain memcached/example-memcached --context staging --endpoint 127.0.0.1:8081`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || strings.Count(args[0], "/") != 1 {
				return usageError{fmt.Errorf("want one object, as KIND/NAME")}
			}
			if options.Kind, options.Name, _ = strings.Cut(args[0], "/"); options.Kind == "" || options.Name == "" {
				return usageError{fmt.Errorf("%q: want KIND/NAME", args[0])}
			}
			return nil
		},
	}
	whereFlags(command, &options.Where)
	set := command.Flags()
	set.StringVarP(&options.Namespace, "namespace", "n", "", "namespace of the object (default: that of the kubeconfig)")
	set.StringVar(&options.Endpoint, "endpoint", "", "`HOST:PORT` of the operator's health probes")
	output.addFlag(command, "the answer", formatName)
	readsProjectFileIn(command, here, projectfile.Excluded{"cluster": {"kubeconfig", "context"}})
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := errors.Join(output.check(), resolveCluster(&options.Where)); err != nil {
			return err
		}
		if _, _, err := net.SplitHostPort(options.Endpoint); options.Endpoint != "" && err != nil {
			return usageError{fmt.Errorf("--endpoint %s: want HOST:PORT, as in 127.0.0.1:8081", options.Endpoint)}
		}
		answer, err := explain.Of(command.Context(), options)
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: answer, text: answer.Text, names: []string{nameLine(answer.Kind, answer.Name)}})
	}
	return command
}
