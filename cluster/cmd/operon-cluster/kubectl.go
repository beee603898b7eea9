package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

// newKubectl shows kubectl in the help. main handles the command before cobra parses flags.
func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--cluster NAME] ARGUMENTS...",
		Short: "Run kubectl against a cluster",
		Long: `Run the real kubectl, which is part of this binary, against a cluster. --cluster, where
given, comes before kubectl's own arguments; --kubeconfig points it elsewhere.`,
		Example: `  operon kubectl get pods --all-namespaces
  operon kubectl --cluster big apply -f deployment.yaml`,
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { os.Exit(kubectl(args)) },
	}
}

// kubectl runs kubectl and returns its exit code.
func kubectl(args []string) int {
	name, args, err := takeName(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "operon kubectl: %v\n", err)
		return exitFailed
	}
	if err := pointKubectl(name, args); err != nil {
		fmt.Fprintf(os.Stderr, "operon kubectl: %v\n", err)
		return exitFailed
	}
	os.Args = append([]string{"kubectl"}, args...)
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints the error as kubectl does, and exits
	}
	return 0
}

// takeName parses a leading --cluster, which is a flag of this command and not of kubectl.
func takeName(args []string) (name string, rest []string, err error) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "--cluster") {
		return defaultName(), args, nil
	}
	if name, found := strings.CutPrefix(args[0], "--cluster="); found {
		return name, args[1:], nil
	}
	if args[0] != "--cluster" || len(args) < 2 {
		return "", nil, fmt.Errorf("%s needs the name of a cluster", args[0])
	}
	return args[1], args[2:], nil
}

// pointKubectl sets KUBECONFIG to the kubeconfig of the cluster, unless the user names another kubeconfig or runs a command
// that needs no cluster. What follows -- is the command line of a container: its flags are not kubectl's.
func pointKubectl(name string, args []string) error {
	if at := slices.Index(args, "--"); at >= 0 {
		args = args[:at]
	}
	isOther := func(arg string) bool { return arg == "--kubeconfig" || strings.HasPrefix(arg, "--kubeconfig=") }
	if slices.ContainsFunc(args, isOther) {
		return nil
	}
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(flags, arg) })
	}
	needsNone := len(args) == 0 || has("--help", "-h") || args[0] == "version" && has("--client", "--client=true") ||
		slices.Contains([]string{"help", "completion", "kustomize", "options", "plugin"}, args[0])
	facts, err := instance.StatusRunning(name)
	if err != nil && needsNone {
		return nil // a page of help, for example
	}
	if err != nil {
		return err
	}
	return os.Setenv("KUBECONFIG", facts.Kubeconfig)
}
