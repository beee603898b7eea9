package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/preview"
	"github.com/operon-framework/operon/internal/tools/up"
)

func newOLM() *cobra.Command {
	command := &cobra.Command{
		Use:   "olm",
		Short: "Run the lifecycle manager, and inspect, upgrade and remove operators",
		Long: `Run or install Operon's lifecycle manager, and inspect, upgrade and remove the operators that it, or the
Operator Lifecycle Manager, has installed from bundles and catalogs.

The commands read with your permissions in the cluster, and name those that are missing.`,
		Example: `  operon olm up
  operon olm status -A
  operon olm explain memcached -n caches
  operon olm plan install-502b0559 -n caches
  operon olm upgrade memcached -n caches`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon olm\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newOLMStatus(), newOLMExplain(), newOLMPlan(), newOLMApprove(), newOLMUpgrade(), newOLMRemove(),
		newOLMUp(), newOLMDown(), newOLMInstall(), newOLMUninstall())
	return command
}

// fieldManager is the field manager of approvals.
const fieldManager = "operon-olm"

// olmTarget is the namespace in a cluster that the commands of `operon olm` work in.
type olmTarget struct {
	where     up.Where
	namespace string
	client    *kube.Client
	cluster   *up.Cluster
}

// addFlags adds the flags that choose a namespace and a cluster.
func (t *olmTarget) addFlags(command *cobra.Command) {
	whereFlags(command, &t.where)
	command.Flags().StringVarP(&t.namespace, "namespace", "n", "", "namespace of the operator (default: that of the kubeconfig)")
}

// connect finds the cluster.
func (t *olmTarget) connect(ctx context.Context) error {
	if err := resolveCluster(&t.where); err != nil {
		return err
	}
	var err error
	if t.cluster, err = up.Find(ctx, t.where); err != nil {
		return err
	}
	if t.namespace == "" {
		t.namespace = t.cluster.Namespace
	}
	t.client, err = kube.New(t.cluster.Config, fieldManager)
	return err
}

// read reads the namespace.
func (t *olmTarget) read(ctx context.Context) (*olm.State, error) {
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	return olm.Read(ctx, t.client, t.namespace)
}

// oneNamed accepts one argument, a name.
func oneNamed(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usageError{fmt.Errorf("want the name of one %s, got %s", what, plural.Count(len(args), "argument"))}
		}
		return nil
	}
}

func newOLMStatus() *cobra.Command {
	target, output, all := olmTarget{}, output{}, false
	command := &cobra.Command{
		Use:   "status",
		Short: "List installed operators with their permissions, images and upgrades",
		Long: `List the operators that a lifecycle manager has installed: for each, its package, version, channel and
catalog, whether it works, upgrades that wait, the namespaces that it works in, its permissions and
images, and deprecations. Permissions with which an operator could gain others come first. CatalogSources,
ClusterCatalogs and OperatorGroups follow.
Operators that are installed in another namespace and work in this one are listed with their version and phase.

What you may not read is listed at the end, with the permission that is missing.`,
		Example: `  operon olm status -n caches
  operon olm status -A -o json`,
		Args: noArguments,
	}
	target.addFlags(command)
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the operators of all namespaces")
	output.addFlag(command, "the list", formatName)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if all && target.namespace != "" {
			return usageError{errors.New("use --namespace or --all-namespaces, not both")}
		}
		if err := output.check(); err != nil {
			return err
		}
		if err := target.connect(command.Context()); err != nil {
			return err
		}
		if all {
			target.namespace = ""
		}
		state, err := olm.Read(command.Context(), target.client, target.namespace)
		if err != nil {
			return err
		}
		if err := state.ReadExtensions(command.Context(), target.client); err != nil {
			return err
		}
		if !all {
			if err := state.ReadElsewhere(command.Context(), target.client); err != nil {
				return err
			}
		}
		bill := state.Bill()
		var names []string
		for _, one := range bill.Operators {
			if one.CSV != "" {
				names = append(names, nameLine("clusterserviceversion", one.CSV))
			}
		}
		return output.print(command.OutOrStdout(), forms{facts: bill, text: bill.Text, names: names})
	}
	return command
}

func newOLMExplain() *cobra.Command {
	target, output := olmTarget{}, output{}
	command := &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain why a Subscription, a version, a plan or a ClusterExtension does not move",
		Long: `Explain in one sentence why a Subscription or a ClusterExtension does not install or upgrade its operator,
with the object and the field that decides, and what to do. The chain of objects to that one follows:
catalog, plan, ClusterServiceVersion, Deployment and Pod.

NAME is the name of a Subscription, or else of a ClusterServiceVersion, an InstallPlan or a ClusterExtension.`,
		Example: `  operon olm explain memcached -n caches
  operon olm explain memcached-operator.v1.2.0 -n caches -o json`,
		Args: oneNamed("Subscription, ClusterServiceVersion, InstallPlan or ClusterExtension"),
	}
	target.addFlags(command)
	output.addFlag(command, "the answer")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if err := target.connect(command.Context()); err != nil {
			return err
		}
		state, err := olm.ReadNamed(command.Context(), target.client, target.namespace, args[0])
		if err != nil {
			return err
		}
		answer, err := state.Why(args[0])
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: answer, text: answer.Text})
	}
	return command
}

func newOLMPlan() *cobra.Command {
	target, output := olmTarget{}, output{}
	command := &cobra.Command{
		Use:   "plan INSTALLPLAN",
		Short: "Print what an InstallPlan would change",
		Long: `Print what an InstallPlan that waits for approval would change: permissions that the installed version does
not have, images, what new CustomResourceDefinitions do to stored objects, and each object with its
differences. Nothing is written.

Exit code 1 means that the plan would fail.`,
		Example: `  operon olm plan install-502b0559 -n caches
  operon olm plan install-502b0559 -n caches -o json`,
		Args: oneNamed("InstallPlan"),
	}
	target.addFlags(command)
	output.addFlag(command, "the changes")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		state, err := target.read(command.Context())
		if err != nil {
			return err
		}
		plan, err := target.plan(state, args[0])
		if err != nil {
			return err
		}
		return target.preview(command, output, state, plan)
	}
	return command
}

// plan returns an InstallPlan. The error names those that exist.
func (t *olmTarget) plan(state *olm.State, name string) (*olm.InstallPlan, error) {
	if plan := state.Plan(t.namespace, name); plan != nil {
		return plan, nil
	}
	if len(state.Lacks) > 0 {
		return nil, fmt.Errorf("InstallPlan %s/%s: %s", t.namespace, name, state.Lacks[0])
	}
	text := ""
	for i := range state.Plans {
		text += " " + state.Plans[i].Name
	}
	if text == "" {
		text = " none"
	}
	return nil, fmt.Errorf("InstallPlan %s/%s does not exist; the namespace has:%s", t.namespace, name, text)
}

// preview prints what a plan would change. The exit code says whether it would fail.
func (t *olmTarget) preview(command *cobra.Command, output output, state *olm.State, plan *olm.InstallPlan) error {
	changes, err := preview.Of(command.Context(), t.client, t.cluster.Config, state, plan)
	if err != nil {
		return err
	}
	if err := output.print(command.OutOrStdout(), forms{facts: changes, text: changes.Text}); err != nil {
		return err
	}
	if len(changes.Problems) > 0 {
		return exitError{code: exitFindings}
	}
	return nil
}
