// Command operon-cluster runs local Kubernetes clusters, each in its own process: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and simulated nodes. The operon command calls it for `operon cluster` and
// `operon kubectl`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/cluster/internal/instance"
	"github.com/operon-framework/operon/cluster/internal/node/program"
)

// Exit codes.
const (
	// exitFailed means that the command failed, or that the command line is invalid.
	exitFailed = 2
	// exitNeedsNode means that the cluster has a container node, and the program operon-node was not found. The command operon finds or builds it
	// then, and sets onDemand.
	exitNeedsNode = 3
)

// onDemand is the environment variable with which nothing is printed if operon-node was not found.
const onDemand = "OPERON_NODE_ON_DEMAND"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "kubectl" {
		os.Exit(kubectl(os.Args[2:])) // kubectl parses its own flags
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// run executes one command and returns the exit code.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, program.ErrMissing) {
		if os.Getenv(onDemand) == "" {
			fmt.Fprintf(os.Stderr, "%s: %v\n", called(), err)
		}
		return exitNeedsNode
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", called(), err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "see `%s --help`\n", command.CommandPath())
	}
	return exitFailed
}

// called returns the name by which the user called this command: its own name, or `operon cluster`.
func called() string { return filepath.Base(os.Args[0]) }

// usageError is an error in the command line.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "operon-cluster",
		Short: "Run a real Kubernetes on this machine, within about a second and without privileges",
		Long: `Run a real Kubernetes on this machine, within about a second and without privileges.

Each cluster is one process: etcd, kube-apiserver, kube-controller-manager,
kube-scheduler and simulated nodes. It listens on loopback, and with a container
node also in the network of its pods. All its files are below $OPERON_HOME (default ~/.operon).`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: called()},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	if leaked := pflag.Lookup("version"); leaked != nil {
		leaked.Hidden = true // the Kubernetes libraries add it to every program
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{reworded(err)} })
	root.AddCommand(newUp(), newDown(), newStatus(), newList(), newReset(), newKubeconfig(), newLogs(), newEnv(), newKubectl(), newImage(), newServe())
	return root
}

// wants describes the valid values of a flag, by the type of its value.
var wants = map[string]string{"int": "a whole number", "bool": "true or false", "duration": "a duration such as 30s or 5m"}

// reworded describes an invalid value of a flag in terms of the command line, without the error of the function that parsed
// it. It returns other errors unchanged.
func reworded(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	flag := wrong.GetFlag()
	if flag.Value.Type() == (formerName{}).Type() {
		return fmt.Errorf("--%s %w", flag.Name, errors.Unwrap(err))
	}
	if want, known := wants[flag.Value.Type()]; known {
		return fmt.Errorf("--%s %s: want %s", flag.Name, wrong.GetValue(), want)
	}
	return fmt.Errorf("--%s %s: %w", flag.Name, wrong.GetValue(), errors.Unwrap(err))
}

func suggestion(command *cobra.Command, typed string) string {
	command.SuggestionsMinimumDistance = 2
	if near := command.SuggestionsFor(typed); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}

// noArguments rejects arguments with a usageError.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q; clusters are named with --cluster", args[0])}
	}
	return nil
}

// nameFlag adds --cluster.
func nameFlag(command *cobra.Command) *string {
	command.Flags().Var(formerName{}, "name", "")
	if err := command.Flags().MarkHidden("name"); err != nil {
		panic(err) // it was added in the previous line
	}
	return command.Flags().String("cluster", defaultName(), "`NAME` of the cluster; also taken from $OPERON_CLUSTER")
}

// formerName is the flag --name of earlier versions.
type formerName struct{}

// String implements pflag.Value.
func (formerName) String() string { return "" }

// Type implements pflag.Value.
func (formerName) Type() string { return "former" }

// Set implements pflag.Value.
func (formerName) Set(string) error { return errors.New("is called --cluster now") }

func defaultName() string {
	if name := os.Getenv("OPERON_CLUSTER"); name != "" {
		return name
	}
	return instance.DefaultName
}
