package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
)

func newDeploy() *cobra.Command {
	options := deploy.Options{Build: build.Options{By: identify().Version}}
	output := ""
	command := &cobra.Command{
		Use:   "deploy [DIR]",
		Short: "Run an operator in a cluster, in pods",
		Long: `Bring the operator of the project in DIR (by default the current folder) into a cluster, to run
there in pods: its namespace with restricted pod security, its CustomResourceDefinitions, its
identity and Roles, two replicas of which one leads, and what goes with that.

The image is built as "operon build" does it, and put into the nodes of the local cluster, started
with --node container; with --push it goes to a registry. --image names one that is there already.

Before anything is written, it is made sure that you may do all of it, that no stored object breaks,
and that the cluster takes every object. What an earlier deployment made and this one does not is
removed. It waits until the operator is ready, or says why it is not.`,
		Example: `  operon deploy examples/memcached                 # built, and run in the local cluster
  operon deploy --push registry.example.com/web:1.0 --context staging
  operon deploy --image registry.example.com/web:1.1 --dry-run   # what would change
  operon deploy --image registry.example.com/web:1.1 --replicas 3 --shards 12`,
		Args: oneFolder,
	}
	targetFlags(command, &options.Target)
	set := command.Flags()
	set.StringVar(&options.Image, "image", "", "image that the pods run, by default one that is built for the nodes of the local cluster")
	set.StringVar(&options.Push, "push", "", "build the image and push it to a registry under this `NAME`, from where pods get it by its digest")
	set.StringSliceVar(&options.Build.Platforms, "platform", nil, "build the image for these `PLATFORMS`, by default linux and this machine's architecture")
	set.IntVar(&options.Replicas, "replicas", manifests.DefaultReplicas, "how many pods there are")
	set.IntVar(&options.Shards, "shards", 0, "let all replicas work, each on some of so many shards; 0: one of them leads")
	set.StringVar(&options.Memory, "memory", "", "how much memory each pod may take, by default 256Mi")
	set.StringSliceVar(&options.Watch, "watch", nil, "namespaces to work in, by default all")
	set.StringToStringVar(&options.PodAnnotations, "pod-annotation", nil, "annotation of the pods, as KEY=VALUE")
	set.BoolVar(&options.WithoutWebhooks, "without-webhooks", false, "deploy a project of kubebuilder's without its webhooks")
	set.BoolVar(&options.UnsafeCRDs, "unsafe-crds", false, "apply changed CustomResourceDefinitions even if they break stored objects")
	set.BoolVar(&options.DryRun, "dry-run", false, "tell what would be done, and write nothing")
	set.StringVarP(&output, "output", "o", "text", "how to print the result, text or json")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := errors.Join(textOrJSON(output), oneCluster(options.Where)); err != nil {
			return err
		}
		if err := options.Check(); err != nil {
			return usageError{err}
		}
		if options.Replicas < 1 {
			return usageError{fmt.Errorf("--replicas %d: want at least 1", options.Replicas)}
		}
		options.Dir, options.Progress = folderOf(args), command.ErrOrStderr()
		result, err := deploy.Run(command.Context(), options)
		if err != nil {
			return err
		}
		if output == "json" {
			return printJSON(command.OutOrStdout(), result)
		}
		return printDeployed(command.OutOrStdout(), result)
	}
	return command
}

// targetFlags add the flags that choose a deployment.
func targetFlags(command *cobra.Command, target *deploy.Target) {
	whereFlags(command, &target.Where)
	set := command.Flags()
	set.StringVarP(&target.Namespace, "namespace", "n", "", "where the operator runs (default its name and -system)")
	set.StringVar(&target.Main, "main", "", "folder of the main package, where the project has several")
	set.DurationVar(&target.Timeout, "timeout", deploy.DefaultTimeout, "how long it may take")
}

func textOrJSON(output string) error {
	if output != "text" && output != "json" {
		return usageError{fmt.Errorf("-o %s: want text or json", output)}
	}
	return nil
}

func printJSON(out io.Writer, what any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(what)
}

func printDeployed(out io.Writer, result *deploy.Result) error {
	lines := changed(result)
	switch {
	case result.DryRun:
		lines = append(lines, fmt.Sprintf("nothing was written to %s", result.Cluster))
	default:
		lines = append(lines, fmt.Sprintf("%s runs in namespace %s of %s: %d pods ready, %.1f s", result.Operator, result.Namespace, result.Cluster, result.Replicas, result.Seconds))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// changed has a line for each object that was written, or would be.
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
	if len(result.Untried) > 0 {
		lines = append(lines, fmt.Sprintf("%d objects could not be tried, as namespace %s is not there yet", len(result.Untried), result.Namespace))
	}
	return lines
}
