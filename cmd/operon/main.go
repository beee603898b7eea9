// Command operon is a Kubernetes operator framework, local cluster and test tool in one command: `operon up` runs an
// operator's project on a Kubernetes of its own and keeps it running while its author edits it, `operon doctor` names
// what will hurt in production, `operon explain` tells why an object is as it is, `operon prove` finds its
// reliability bugs, `operon crd check` tells what a changed CustomResourceDefinition would do to stored objects,
// `operon down` removes it all again, `operon deploy` and `operon undeploy` bring it into a cluster and out of it,
// `operon logs` and `operon restart` are about its pods there, `operon cluster` and `operon kubectl` serve the local
// Kubernetes itself.
//
// Each verb has one file here, which holds flags, printing and nothing else; the work is
// done by the packages that the verbs are named after.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/internal/tools/flagerror"
)

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells tell of SIGINT
)

func main() {
	klog.SetLogger(logr.Discard()) // what client libraries log goes to no user; their errors come back as errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one verb and returns the exit code.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "operon: interrupted")
		return exitInterrupted
	}
	var ends exitError
	if errors.As(err, &ends) && ends.err == nil {
		return ends.code
	}
	fmt.Fprintf(os.Stderr, "operon: %v\n", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "see `%s --help`\n", command.CommandPath())
		return exitUsage
	}
	if ends.code != 0 {
		return ends.code
	}
	return exitFailed
}

// exitError is an end with an exit code of its own. Without an error all has been said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return "ended with what was printed"
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usageError is a mistake in the command line.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "operon",
		Short: "Write, run, prove and ship Kubernetes operators",
		Long: `Write, run, prove and ship Kubernetes operators, without Docker and without a
cluster that somebody else set up.`,
		Example: `  operon init memcached-operator     # make a project
  operon up examples/memcached       # run an operator, and look at what it does
  operon kubectl get memcacheds      # talk to the local Kubernetes
  operon explain memcached/example-memcached   # why it is as it is
  operon prove examples/memcached    # let everything go wrong, and see whether it recovers
  operon down examples/memcached     # remove all that up made
  operon deploy --image web:1.0 --context staging   # run it in a cluster, in pods
  operon cluster down                # stop the local Kubernetes`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no verb %q%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagerror.Reworded(err)} })
	root.AddCommand(newInit(), newCreate(), newUp(), newDown(), newDeploy(), newUndeploy(), newLogs(), newRestart(), newExplain(), newProve(), newDoctor(), newGenerate(), newBuild(), newImage(), newCRD(), newCluster(), newKubectl(), newCompletion(), newVersion())
	return root
}

func suggestion(command *cobra.Command, typed string) string {
	command.SuggestionsMinimumDistance = 2
	if near := command.SuggestionsFor(typed); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}

// oneFolder takes at most one argument, a folder.
func oneFolder(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("want one folder, got %d: %q", len(args), args)}
	}
	return nil
}

// folderOf is the folder that is named, or the current one.
func folderOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// noArguments refuses arguments.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
