// Command operon writes, runs, tests and ships Kubernetes operators. Each command has one file here, which contains only its
// flags and output. The work is done by the packages with the names of the commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/flagerror"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Exit codes, the same for all commands.
const (
	// exitFindings means that the command ran, and that its check found problems.
	exitFindings = 1
	// exitFailed means that the command failed, or that the command line is invalid.
	exitFailed = 2
	// exitInterrupted is the exit code that shells report for SIGINT.
	exitInterrupted = 130
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP) // the terminal was closed, or the connection to it was lost
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(terminal.NewWriter(stdout))
	root.SetErr(terminal.NewWriter(stderr))
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	return fail(stderr, command.CommandPath(), ctx.Err() != nil, err)
}

// fail prints the error of a command and returns the exit code.
func fail(out io.Writer, command string, interrupted bool, err error) int {
	if interrupted {
		fmt.Fprintln(out, "operon: interrupted")
		if left, ok := errors.AsType[*deploy.LeftError](err); ok {
			fmt.Fprintln(out, terminal.Clean(left.Left))
		}
		return exitInterrupted
	}
	var ends exitError
	if errors.As(err, &ends) && ends.err == nil {
		return ends.code
	}
	fmt.Fprintf(out, "operon: %s\n", terminal.Clean(err.Error())) // it may quote text from a cluster
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(out, "see `%s --help`\n", command)
		return exitFailed
	}
	if ends.code != 0 {
		return ends.code
	}
	return exitFailed
}

// exitError is an error with its own exit code. If err is nil, everything was already printed.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return "failed, as printed"
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usageError is an error in the command line.
type usageError struct{ error }

// groups are the groups of commands in the help, in order.
var groups = []struct {
	title    string
	commands []func() *cobra.Command
}{
	{"Develop", []func() *cobra.Command{newInit, newCreate, newGenerate, newUp, newDown, newExplain}},
	{"Test", []func() *cobra.Command{newTest, newLint, newProve, newCRD}},
	{"Ship", []func() *cobra.Command{newBuild, newDeploy, newUndeploy, newLogs, newRestart, newImage, newChart, newBundle, newCatalog, newOLM}},
	{"Local cluster", []func() *cobra.Command{newCluster, newKubectl}},
	{"Other", []func() *cobra.Command{newDoctor, newCompletion, newVersion}},
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "operon",
		Short: "Write, run, test and ship Kubernetes operators",
		Long: `Write, run, test and ship Kubernetes operators, without Docker and without an
existing cluster. Flags that you do not set are read from operon.yaml in the project's directory, if
it exists.`,
		Example: `  operon init memcached-operator     # create a project
  operon up examples/memcached       # run an operator and watch what it does
  operon kubectl get memcacheds      # talk to the local Kubernetes
  operon explain memcached/example-memcached   # why an object is as it is
  operon prove examples/memcached    # inject faults and check that the operator recovers
  operon down examples/memcached     # remove everything that up installed
  operon deploy --image web:1.0 --context staging   # install the operator in a cluster
  operon cluster down                # stop the local Kubernetes`,
		Version:       identify().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	globalFlags(root)
	// Commands that only contain others print their help. Cobra would list them as separate commands.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	root.SetVersionTemplate("{{printf \"%s\\n\" \"" + identify().String() + "\"}}")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if former := flagError(err); former != nil {
			return former
		}
		return usageError{flagerror.Reworded(err)}
	})
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, create := range group.commands {
			command := create()
			command.GroupID = group.title
			root.AddCommand(command)
		}
	}
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID("Other")
	return root
}

// newHelp returns cobra's help command, but an unknown topic is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print the help of a command",
		Example: "  operon help deploy",
		RunE: func(command *cobra.Command, args []string) error {
			about, rest, err := command.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon\"%s", strings.Join(args, " "), suggestion(command.Root(), args[0]))}
			}
			return about.Help()
		},
	}
}

// elsewhere maps commands of other tools to the commands of operon.
var elsewhere = map[string]string{
	"dev": "up", "run": "up", "start": "up", "stop": "down", "serve": "up", "apply": "deploy", "install": "deploy", "uninstall": "undeploy", "delete": "down", "destroy": "down", "clean": "down",
	"molecule": "test", "verify": "test", "chaos": "prove", "fuzz": "prove", "vet": "lint", "check": "lint", "validate": "lint", "scorecard": "lint", "describe": "explain", "why": "explain", "new": "init", "add": "create", "scaffold": "create",
	"manifests": "generate", "codegen": "generate", "docker-build": "build", "push": "build", "env": "cluster env", "reset": "cluster reset", "status": "cluster status", "cluster create": "cluster up", "cluster start": "cluster up", "cluster new": "cluster up",
	"cluster delete": "cluster down", "cluster stop": "cluster down", "cluster rm": "cluster down", "cluster get": "cluster list", "cluster describe": "cluster status", "cluster info": "cluster status", "image build": "build", "image list": "image ls", "image push": "build", "create controller-runtime": "create controller", "olm list": "olm status", "olm describe": "olm explain", "olm delete": "olm remove",
}

func suggestion(command *cobra.Command, typed string) string {
	_, path, _ := strings.Cut(command.CommandPath()+" "+typed, " ")
	if ours := elsewhere[path]; ours != "" {
		return fmt.Sprintf("; did you mean \"operon %s\"?", ours)
	}
	command.SuggestionsMinimumDistance = 2
	if near := command.SuggestionsFor(typed); len(near) > 0 {
		return fmt.Sprintf("; did you mean \"%s %s\"?", command.CommandPath(), near[0])
	}
	return ""
}

// oneDirectory accepts at most one argument, a directory.
func oneDirectory(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("want one directory, got %d: %q", len(args), args)}
	}
	return nil
}

// directoryOf returns the directory in the arguments, or the current directory.
func directoryOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// noArguments rejects arguments.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
