package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/flagerror"
	"github.com/operon-framework/operon/local"
)

func newCluster() *cobra.Command {
	command := &cobra.Command{
		Use:   "cluster COMMAND",
		Short: "Start, inspect and stop local Kubernetes clusters",
		Long: `Start, inspect and stop local Kubernetes clusters: etcd, kube-apiserver, kube-controller-manager,
kube-scheduler and simulated nodes in one process, ready in about a second.

Every command except list has the flag --cluster (default $OPERON_CLUSTER, or "default").`,
		Example: `  operon cluster up
  operon cluster up --cluster big --nodes 100
  operon cluster up --node container
  operon cluster down`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon cluster\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newClusterList())
	for _, verb := range clusterVerbs {
		command.AddCommand(passedOn("operon cluster", []string{verb.name}, "cluster-"+verb.name, verb.short))
	}
	return command
}

// clusterVerbs are the commands of operon-cluster for clusters.
var clusterVerbs = []struct{ name, short string }{
	{"up", "Start a cluster, if it is not running"},
	{"down", "Stop and delete a cluster"},
	{"status", "Describe a cluster"},
	{"reset", "Reset a cluster to its initial state"},
	{"kubeconfig", "Print the kubeconfig of a cluster"},
	{"logs", "Print the log of a cluster"},
	{"env", "Print shell commands that point kubectl and other tools at a cluster"},
}

// helpTexts are the help texts of operon-cluster's commands, so they can be printed without building it.
//
//go:embed help/*.txt
var helpTexts embed.FS

// passedOn returns a command that calls a command of operon-cluster under the name as. Its help is in a file.
func passedOn(as string, verb []string, help, short string) *cobra.Command {
	text, err := helpTexts.ReadFile("help/" + help + ".txt")
	if err != nil {
		panic(err) // the file is not in this binary
	}
	_, examples, _ := strings.Cut(string(text), "Examples:\n")
	examples, _, _ = strings.Cut(examples, "\n\n")
	command := &cobra.Command{
		Use: verb[len(verb)-1], Short: short, Example: examples,
		DisableFlagParsing: true, // operon-cluster parses the flags
		RunE: func(command *cobra.Command, args []string) error {
			if wantsHelp(args) {
				return command.Help()
			}
			rest, err := takeGlobal(command, args)
			if err != nil {
				return err
			}
			return become(command, as, append(slices.Clone(verb), rest...))
		},
	}
	command.SetHelpFunc(func(command *cobra.Command, _ []string) {
		_, _ = command.OutOrStdout().Write(text)
	})
	return command
}

// takeGlobal sets the flags that all commands of operon have, and returns the other arguments.
func takeGlobal(command *cobra.Command, args []string) ([]string, error) {
	set := command.Root().PersistentFlags()
	var own, rest []string
	for i := 0; i < len(args); i++ {
		switch name, _, _ := strings.Cut(args[i], "="); {
		case args[i] == "--":
			rest, i = append(rest, args[i:]...), len(args)
		case args[i] == "--color" && i+1 < len(args):
			own = append(own, args[i]+"="+args[i+1])
			i++
		case name == "-v" && i+1 < len(args) && isNumber(args[i+1]):
			return nil, usageError{fmt.Errorf("-v %[1]s: the log level of a cluster is --log-level %[1]s", args[i+1])}
		case slices.Contains([]string{"-q", "--quiet", "-v", "--verbose", "--color"}, name):
			own = append(own, args[i])
		default:
			rest = append(rest, args[i])
		}
	}
	if err := set.Parse(own); err != nil {
		return nil, usageError{flagerror.Reworded(err)}
	}
	return rest, command.Root().PersistentPreRunE(command, nil)
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// wantsHelp reports whether the flags request help.
func wantsHelp(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "-h", "--help":
			return true
		}
	}
	return false
}

func newClusterList() *cobra.Command {
	output := output{}
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all clusters",
		Example: `  operon cluster list
  operon cluster list -o json`,
		Args: noArguments,
	}
	output.addFlag(command, "the list", formatName)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := output.check(); err != nil {
			return err
		}
		list, err := local.List(command.Context())
		if err != nil {
			return err
		}
		var names []string
		for _, cluster := range list {
			names = append(names, nameLine("cluster", cluster.Name))
		}
		text := func(io.Writer) error { return printClusters(command, list) }
		return output.print(command.OutOrStdout(), forms{facts: list, text: text, names: names})
	}
	return command
}

func printClusters(command *cobra.Command, list []local.Cluster) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(command.ErrOrStderr(), "No cluster exists. Start one with `operon cluster up`.")
		return err
	}
	table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tVERSION\tNODES\tUP FOR\tSERVER")
	for _, cluster := range list {
		if cluster.State != local.Running {
			fmt.Fprintf(table, "%s\t%s\t\t\t\t\n", cluster.Name, cluster.State)
			continue
		}
		if cluster.Node == local.Container {
			cluster.Nodes++ // of which the others are simulated
		}
		age := time.Since(cluster.StartedAt).Round(time.Second)
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", cluster.Name, cluster.State, cluster.Version, cluster.Nodes, age, cluster.Server)
	}
	return table.Flush()
}

// become replaces this process by operon-cluster, which then receives signals and returns the exit code.
func become(command *cobra.Command, name string, args []string) error {
	if err := clusterOfProject(); err != nil {
		return err
	}
	binary, err := local.Binary(command.Context(), os.Stderr)
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "up" {
		return startCluster(command, binary, name, args)
	}
	if err := syscall.Exec(binary, append([]string{name}, args...), os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", binary, err)
	}
	return nil
}

// startCluster runs operon-cluster in this process's place, and a second time if the cluster has a container node and its program has to be found or
// built first.
func startCluster(command *cobra.Command, binary, name string, args []string) error {
	code, err := runCluster(command, binary, name, args, "OPERON_NODE_ON_DEMAND=1")
	if code == local.NeedsNode {
		node, failed := local.Node(command.Context(), os.Stderr)
		if failed != nil {
			return failed
		}
		code, err = runCluster(command, binary, name, args, "OPERON_NODE_BINARY="+node)
	}
	if code > 0 {
		return exitError{code: code} // operon-cluster has printed why
	}
	return err
}

// runCluster runs operon-cluster in this terminal, and returns its exit code.
func runCluster(command *cobra.Command, binary, name string, args []string, env string) (int, error) {
	running := exec.CommandContext(command.Context(), binary, args...)
	running.Args[0] = name
	running.Env = append(os.Environ(), env)
	running.Stdin, running.Stdout, running.Stderr = os.Stdin, os.Stdout, os.Stderr
	running.Cancel = func() error { return running.Process.Signal(syscall.SIGTERM) } // it stops what it has started
	err := running.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode(), err
	}
	return 0, err
}
