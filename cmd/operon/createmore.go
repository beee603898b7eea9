package main

import (
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

func newCreateWebhook() *cobra.Command {
	var wanted scaffold.Webhook
	command := &cobra.Command{
		Use:   "webhook",
		Short: "Scaffold defaulting and validating admission webhooks",
		Long: `Scaffold admission webhooks for a kind, with tests: defaulting, validation, and validation of
deletions. Without a flag, the first two. The operator registers and serves them with its own
certificates.

Conversion webhooks come with a second version: "operon create version".`,
		Example: `  operon create webhook --kind Memcached
  operon create webhook --kind Memcached --validate-deletion --dry-run`,
		Args: noArguments,
	}
	set := command.Flags()
	kindFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.BoolVar(&wanted.Default, "default", false, "set defaults of fields that a user left out")
	set.BoolVar(&wanted.Validate, "validate", false, "reject objects that are not valid")
	set.BoolVar(&wanted.ValidateDeletion, "validate-deletion", false, "reject deletions that must not happen")
	carriesOut(command, &wanted, func(q *questions) {
		q.ask("kind", "Kind, such as Memcached", &wanted.Kind, "", scaffold.CheckKind)
	})
	return command
}

// kindFlags add the flags that name a kind of the project.
func kindFlags(command *cobra.Command, dir, group, version, kind *string) {
	nameFlags(command, dir, group, version, kind)
	completeKinds(command)
}

func newCreateVersion() *cobra.Command {
	var wanted scaffold.Version
	command := &cobra.Command{
		Use:   "version",
		Short: "Scaffold a new version of an API, with conversion and tests",
		Long: `Scaffold a new version of a kind: Go types like those of the version that the operator uses now, a
conversion in both directions that the operator serves, and a test that no field gets lost.

With --storage, the new version becomes the storage version and the one that the operator uses; objects
that are stored in the older version are migrated.`,
		Example: `  operon create version --kind Memcached --version v1beta1
  operon create version --kind Memcached --version v1 --storage --dry-run`,
		Args: noArguments,
	}
	set := command.Flags()
	kindFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.StringVar(&wanted.From, "from", "", "version whose types are copied (default: the one that the operator uses)")
	set.BoolVar(&wanted.Storage, "storage", false, "make the new version the storage version, and use it in the operator")
	carriesOut(command, &wanted, func(q *questions) {
		q.ask("kind", "Kind, such as Memcached", &wanted.Kind, "", scaffold.CheckKind)
		q.ask("version", "New version, such as v1beta1", &wanted.Version, "", scaffold.CheckVersion)
	})
	return command
}

func newCreateController() *cobra.Command {
	var wanted scaffold.Controller
	command := &cobra.Command{
		Use:   "controller",
		Short: "Scaffold a controller for an existing kind",
		Long: `Scaffold a controller for an existing kind. The kind is one of the project, or a built-in
kind: --group apps --version v1 --kind Deployment, without --group for the core API. The controller of
a built-in kind adds labels, annotations and children to its objects, and leaves their status to
Kubernetes.`,
		Example: `  operon create controller --kind Memcached
  operon create controller --version v1 --kind Namespace
  operon create controller --group apps --version v1 --kind Deployment --dry-run`,
		Args: noArguments,
	}
	kindFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	carriesOut(command, &wanted, func(q *questions) {
		q.ask("kind", "Kind, such as Memcached or Deployment", &wanted.Kind, "", scaffold.CheckKind)
	})
	return command
}

func newCreateAPIServer() *cobra.Command {
	var wanted scaffold.APIServer
	command := &cobra.Command{
		Use:   "apiserver",
		Short: "Scaffold an aggregated API server",
		Long: `Scaffold an aggregated API server for a group and version, with a first kind: its Go types, the code
that serves its objects, and a test. Use it for objects that are computed, or stored outside of etcd.
kubectl, RBAC and informers work as with any kind. The scaffolded kind is read-only; each additional
method adds a verb.

For objects that are stored as users write them, use "operon create api".`,
		Example: `  operon create apiserver --group metrics --version v1alpha1 --kind Usage --plural usages`,
		Args:    noArguments,
	}
	set := command.Flags()
	nameFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.StringVar(&wanted.Plural, "plural", "", "plural of the kind (default: by the rules of English)")
	carriesOut(command, &wanted, func(q *questions) { askNames(q, &wanted.Group, &wanted.Version, &wanted.Kind) })
	return command
}
