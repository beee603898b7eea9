package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/bundle/bundlerun"
	"github.com/operon-framework/operon/internal/ship/bundle/images"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm/change"
)

func newBundleRun() *cobra.Command {
	target, output, how := olmTarget{}, output{}, bundlerun.Options{}
	command := &cobra.Command{
		Use:   "run DIR|IMAGE",
		Short: "Install a bundle in a cluster with the lifecycle manager, or upgrade to it",
		Long: `Install a bundle in a cluster that has Operon's lifecycle manager ("operon olm up" runs it on this machine,
"operon olm install" installs it), and wait until the operator runs. Neither the bundle nor its catalog
need an image: they are put into a ConfigMap, with a CatalogSource and a Subscription. The images that the
bundle names have to exist. If the bundle is an image, only this command reads it.

If another version of the package was run in the namespace before, the bundle is an upgrade. It replaces
that version, unless it says itself what it replaces or skips.

"operon olm remove PACKAGE" removes the operator and everything that this command has created.

Ctrl-C ends only the command: the manager continues, and the command can be run again.`,
		Example: `  operon bundle run bundle -n caches
  operon bundle run registry.example.com/web-bundle:1.2.0 -n caches
  operon bundle run bundle -n caches --install-mode SingleNamespace=team-a
  operon olm remove memcached-operator -n caches`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("want the directory or the image of one bundle, got %d arguments", len(args))}
			}
			return nil
		},
	}
	target.addFlags(command)
	set := command.Flags()
	set.StringVar(&how.Mode, "install-mode", "", "install `MODE` for a namespace without an OperatorGroup: AllNamespaces, OwnNamespace, SingleNamespace=NAMESPACE or MultiNamespace=NAMESPACE,NAMESPACE (default: the first of AllNamespaces and OwnNamespace that the bundle supports)")
	set.DurationVar(&how.Timeout, "timeout", change.DefaultTimeout, "time limit of the installation")
	output.addFlag(command, "the result")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		var err error
		if how.Bundle, err = images.Open(command.Context(), args[0]); err != nil {
			return err
		}
		if err := target.connect(command.Context()); err != nil {
			return err
		}
		client, err := kube.New(target.cluster.Config, bundlerun.Manager)
		if err != nil {
			return err
		}
		how.Client, how.Namespace = client, target.namespace
		how.Tell = func(line string) { fmt.Fprintln(progressTo(command.ErrOrStderr()), line) }
		made, err := bundlerun.Run(command.Context(), how)
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: made, text: func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "%s runs in %s; `operon olm remove %s -n %s` removes it\n", made.CSV, made.Namespace, made.Subscription, made.Namespace)
			return err
		}})
	}
	return command
}
