package main

import (
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

func newCreateWebhook() *cobra.Command {
	var wanted scaffold.Webhook
	command := &cobra.Command{
		Use:   "webhook",
		Short: "Let API servers ask the operator before they store an object",
		Long: `Give the composer of a kind the roles of a webhook, with tests: defaults, validation, and validation
of deletions. Without a flag for one of them, the first two. The operator registers and serves them by
itself, under its own certificates.

What converts between versions comes with a second version: "operon create version".`,
		Example: `  operon create webhook --kind Memcached
  operon create webhook --kind Memcached --validate-deletion --dry-run`,
		Args: noArguments,
	}
	set := command.Flags()
	kindFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.BoolVar(&wanted.Default, "default", false, "fill in fields that a user left out")
	set.BoolVar(&wanted.Validate, "validate", false, "refuse objects that are wrong")
	set.BoolVar(&wanted.ValidateDeletion, "validate-deletion", false, "keep objects that must not go")
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
		Short: "Add a version to the API of a kind, with conversion and a test of it",
		Long: `Add a version to the API of a kind: types like those of the version that the operator works by now,
a conversion both ways that the operator serves by itself, and a test that nothing is lost by it.

With --storage the new version is the one that objects are stored in and that the operator works by; objects that
are stored in the older one are migrated.`,
		Example: `  operon create version --kind Memcached --version v1beta1
  operon create version --kind Memcached --version v1 --storage --dry-run`,
		Args: noArguments,
	}
	set := command.Flags()
	kindFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.StringVar(&wanted.From, "from", "", "version whose types are copied (default: the one that the operator works by)")
	set.BoolVar(&wanted.Storage, "storage", false, "store objects in the new version, and let the operator work by it")
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
		Short: "Do something about the objects of a kind that is there already",
		Long: `Make what takes care of a kind that is there already. A kind of the project's gets a composer; one of
Kubernetes' own (--group apps --version v1 --kind Deployment; no group for the core) gets a plain
reconciler on the same manager, as its status is somebody else's.`,
		Example: `  operon create controller --kind Memcached
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
		Short: "Serve a kind that no definition can: worked out, or kept elsewhere",
		Long: `Let the operator be an API server for a group and version, and make the first kind of it: its types, what
answers for its objects, and a test. Kubernetes passes requests on, so that kubectl, Roles and
informers know no difference. The kind can be read; further methods are more that can be done with it.

For kinds that are stored as users write them, "operon create api" is less to run.`,
		Example: `  operon create apiserver --group metrics --version v1alpha1 --kind Usage --plural usages`,
		Args:    noArguments,
	}
	set := command.Flags()
	nameFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.StringVar(&wanted.Plural, "plural", "", "plural of the kind (default: as English has it)")
	carriesOut(command, &wanted, func(q *questions) { askNames(q, &wanted.Group, &wanted.Version, &wanted.Kind) })
	return command
}
