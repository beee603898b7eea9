package main

import (
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/scaffold"
)

func newCreateWebhook() *cobra.Command {
	var wanted scaffold.Webhook
	dryRun := false
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
	set.BoolVar(&dryRun, "dry-run", false, "print the files, and write nothing")
	command.RunE = func(command *cobra.Command, _ []string) error {
		asked := newQuestions(command)
		asked.ask("kind", "Kind, such as Memcached", &wanted.Kind, "", scaffold.CheckKind)
		if asked.err != nil {
			return asked.err
		}
		plan, err := wanted.Plan(command.Context(), tell)
		if err != nil {
			return err
		}
		return carryOut(command, plan, dryRun)
	}
	return command
}

// kindFlags add the flags that name a kind of the project.
func kindFlags(command *cobra.Command, dir, group, version, kind *string) {
	nameFlags(command, dir, group, version, kind)
	completeKinds(command)
}
