package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/projectfile"
	"github.com/operon-framework/operon/internal/tools/up"
)

func newUp() *cobra.Command {
	options := up.Options{}
	once, output := false, output{}
	command := &cobra.Command{
		Use:   "up [DIR]",
		Short: "Run an operator project and rebuild it while you edit",
		Long: `Run the operator project in DIR (default: the current directory), and rebuild it
while you edit.

The command starts the local Kubernetes, or uses the cluster of --kubeconfig or
--context. It installs the project's CRDs, ServiceAccount and Roles, builds the
operator, runs it on this machine as that ServiceAccount, and applies the samples.
A terminal shows the custom resources and everything that the operator creates for
them. When a source file changes, the operator is rebuilt and restarted; when a file
under config/ changes, it is applied.

Ctrl-C stops the operator and leaves the cluster as it is. "operon down" removes
everything that "operon up" installed.`,
		Example: `  operon up examples/memcached
  operon up --once -o json            # for scripts: exit when every sample is ready
  operon up --context staging         # in a cluster of your own kubeconfig`,
		Args: oneDirectory,
	}
	whereFlags(command, &options.Where)
	set := command.Flags()
	set.StringVar(&options.Main, "main", "", "`DIR` of the main package, if the project has several")
	argFlag(set, &options.Args)
	set.BoolVar(&once, "once", false, "exit when every sample is ready, and print its final state")
	set.DurationVar(&options.Timeout, "timeout", up.DefaultTimeout, "with --once: time limit for the samples to become ready, from the start of the operator")
	set.BoolVar(&options.UnsafeCRDs, "unsafe-crds", false, "apply changed CustomResourceDefinitions even if they break stored objects")
	output.addFlag(command, "the final state, with --once", formatName)
	readsProjectFile(command, projectfile.Excluded{"cluster": {"kubeconfig", "context"}, "main": nil, "arg": nil})
	command.RunE = func(command *cobra.Command, args []string) error {
		options.Dir = directoryOf(args)
		options.Mode = up.Loop
		if once {
			options.Mode = up.Once
		}
		if err := output.check(); err != nil {
			return err
		}
		if output.format != formatText {
			options.Print = func(samples []*unstructured.Unstructured) error {
				return printSamples(command.OutOrStdout(), output, samples)
			}
		}
		if !once && (command.Flags().Changed("output") || command.Flags().Changed("timeout")) {
			return usageError{fmt.Errorf("--output and --timeout need --once")}
		}
		if err := resolveCluster(&options.Where); err != nil {
			return err
		}
		look(&options)
		err := up.Run(command.Context(), options)
		if _, is := errors.AsType[up.NotReadyError](err); is {
			return exitError{exitFindings, err}
		}
		return err
	}
	return command
}

// look sets how much is printed, and with which colors.
func look(options *up.Options) {
	if options.Quiet = global.quiet; global.color != colorAuto {
		options.Colors = new(colored(os.Stdout))
	}
}

// printSamples prints the samples in a format other than text.
func printSamples(out io.Writer, output output, samples []*unstructured.Unstructured) error {
	var names []string
	for _, sample := range samples {
		names = append(names, nameLine(sample.GetKind(), sample.GetName()))
	}
	return output.print(out, forms{facts: samples, names: names})
}
