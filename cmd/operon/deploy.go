package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/projectfile"
)

func newDeploy() *cobra.Command {
	options := deploy.Options{Build: build.Options{By: identify().Version}}
	output := output{}
	command := &cobra.Command{
		Use:   "deploy [DIR]",
		Short: "Install an operator in a cluster",
		Long: `Install the operator project in DIR (default: the current directory) in a cluster: a namespace with
the restricted Pod Security Standard, the CRDs, a ServiceAccount with least-privilege RBAC, and a
Deployment of two replicas with leader election.

Without --image, the image is built as by "operon build" and loaded into the nodes of the local
cluster, which must be started with --node container. With --push, it goes to a registry. --image
names an image that exists already.

Before writing anything, the command checks that you have all permissions, that no stored object
breaks, and that the API server accepts every object. Objects of an earlier deployment that this one
no longer has are removed. The command waits until the operator is ready, or reports why it is not.`,
		Example: `  operon deploy examples/memcached                 # build, and run in the local cluster
  operon deploy --push registry.example.com/web:1.0 --context staging
  operon deploy --image registry.example.com/web:1.1 --dry-run   # what would change
  operon deploy --image registry.example.com/web:1.1 --replicas 3 --shards 12`,
		Args: oneDirectory,
	}
	targetFlags(command, &options.Target)
	set := command.Flags()
	set.StringVar(&options.Image, "image", "", "`IMAGE` that the pods run (default: built from the project)")
	set.StringVar(&options.Push, "push", "", "build the image and push it to a registry as `IMAGE`; pods pull it by digest")
	set.StringSliceVar(&options.Build.Platforms, "platform", nil, "build the image for these `PLATFORMS` (default: linux and this machine's architecture)")
	set.IntVar(&options.Replicas, "replicas", manifests.DefaultReplicas, "number of pods")
	set.IntVar(&options.Shards, "shards", 0, "divide the objects into `N` shards, so that all replicas reconcile; 0: one leader reconciles")
	set.StringVar(&options.Memory, "memory", "", "memory limit of each pod (default 256Mi; 768Mi with Ansible roles)")
	set.StringSliceVar(&options.Watch, "watch-namespaces", nil, "`NAMESPACES` that the operator watches (default: all)")
	renamed(command, "watch", "watch-namespaces")
	argFlag(set, &options.Args)
	set.StringToStringVar(&options.PodAnnotations, "pod-annotation", nil, "annotations of the pods, `KEY=VALUE`; repeat the flag for more")
	set.Lookup("pod-annotation").DefValue = "" // pflag prints an empty map as a default
	set.BoolVar(&options.WithoutWebhooks, "without-webhooks", false, "deploy a kubebuilder project without its webhooks")
	set.BoolVar(&options.UnsafeCRDs, "unsafe-crds", false, "apply changed CustomResourceDefinitions even if they break stored objects")
	set.BoolVar(&options.DryRun, "dry-run", false, "print what would be done, and write nothing")
	output.addFlag(command, "the result", formatName)
	readsProjectFile(command, deploymentFlags(projectfile.Excluded{
		"push": {"image"}, "image": {"push"}, "platform": {"image"},
		"arg": nil, "replicas": nil, "shards": nil, "memory": nil, "watch-namespaces": nil, "pod-annotation": nil,
	}))
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := errors.Join(output.check(), resolveCluster(&options.Where)); err != nil {
			return err
		}
		if err := options.Check(); err != nil {
			return usageError{err}
		}
		if options.Replicas < 1 {
			return usageError{fmt.Errorf("--replicas %d: want at least 1", options.Replicas)}
		}
		options.Dir, options.Progress, options.Quiet = directoryOf(args), command.ErrOrStderr(), global.quiet
		result, err := deploy.Run(command.Context(), options)
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{
			facts: result, text: func(out io.Writer) error { return printDeployed(out, result) },
			names: nameLines(slices.Concat(result.Created, result.Changed, result.Unchanged)...),
		})
	}
	return command
}

// argFlag adds the flag for arguments of the operator.
func argFlag(set *pflag.FlagSet, args *[]string) {
	set.StringArrayVar(args, "arg", nil, "pass `ARGUMENT` to the operator, such as --arg=--color=red; may be repeated")
}

// targetFlags adds the flags that choose a deployment, and the one that limits the time.
func targetFlags(command *cobra.Command, target *deploy.Target) {
	placeFlags(command, target)
	command.Flags().DurationVar(&target.Timeout, "timeout", deploy.DefaultTimeout, "time limit of the command")
}

// placeFlags adds the flags that choose a deployment.
func placeFlags(command *cobra.Command, target *deploy.Target) {
	whereFlags(command, &target.Where)
	set := command.Flags()
	set.StringVarP(&target.Namespace, "namespace", "n", "", "namespace of the operator (default: its name and -system)")
	set.StringVar(&target.Main, "main", "", "`DIR` of the main package, if the project has several")
}

func printDeployed(out io.Writer, result *deploy.Result) error {
	lines := changed(result)
	switch {
	case result.DryRun:
		lines = append(lines, fmt.Sprintf("nothing was written to %s", result.Cluster))
	default:
		lines = append(lines, fmt.Sprintf("%s is running in namespace %s of %s: %s ready after %.1f s", result.Operator, result.Namespace, result.Cluster, plural.Count(int(result.Replicas), "pod"), result.Seconds))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// changed returns a line for each object that was written, or would be with --dry-run.
func changed(result *deploy.Result) []string {
	var lines []string
	add := func(verb, would string, objects []string) {
		if result.DryRun {
			verb = would
		}
		for _, object := range objects {
			lines = append(lines, verb+" "+object)
		}
	}
	add("created", "would create", result.Created)
	add("changed", "would change", result.Changed)
	add("removed", "would remove", result.Pruned)
	add("kept", "would keep", result.Kept)
	if len(result.Untried) > 0 {
		lines = append(lines, fmt.Sprintf("%s could not be tried because namespace %s does not exist yet", plural.Count(len(result.Untried), "object"), result.Namespace))
	}
	for _, note := range result.Notes {
		lines = append(lines, "note: "+note)
	}
	return lines
}
