package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

func newCreate() *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "Scaffold APIs, webhooks, versions and controllers",
		Long: `Add code to a project that "operon init" created, and generate what can be derived from it, as
"operon generate" does.

No file is overwritten, and a command that fails leaves the project as it was. On a terminal, the
command asks for missing flags.`,
		Example: `  operon create api --group cache --version v1alpha1 --kind Memcached`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon create\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newCreateAPI(), newCreateController(), newCreateWebhook(), newCreateVersion(), newCreateAPIServer())
	return command
}

func newCreateAPI() *cobra.Command {
	var wanted scaffold.API
	var scope string
	var controller bool
	command := &cobra.Command{
		Use:   "api",
		Short: "Scaffold a kind: Go types, composer, tests and a sample",
		Long: `Scaffold a kind and register it in main.go: api/VERSION/KIND_types.go has its fields, KIND.go declares
what should exist for an object, KIND_test.go tests that, and config/samples/KIND.yaml is a sample
object. The code works as it is; edit it from there.

In a project of Ansible roles, the kind gets a role, an entry in watches.yaml, a CRD, permissions and
a sample.`,
		Example: `  operon create api --group cache --version v1alpha1 --kind Memcached --short-name mc
  operon create api --group cache.example.com --version v1 --kind CacheClass --plural cacheclasses --scope cluster
  operon create api --group cache --version v1 --kind Token --controller=false --dry-run
  operon create api --group cache --version v1 --kind Kiosk --generate-playbook   # for an Ansible role`,
		Args: noArguments,
	}
	set := command.Flags()
	nameFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.StringVar(&wanted.Plural, "plural", "", "plural of the kind (default: by the rules of English)")
	set.StringVar(&wanted.ShortName, "short-name", "", "short name for kubectl")
	set.StringVar(&scope, "scope", "namespaced", "`SCOPE` of the kind: namespaced or cluster")
	set.BoolVar(&controller, "controller", true, "scaffold a composer for the kind; --controller=false: the Go types only")
	set.BoolVar(&wanted.Playbook, "generate-playbook", false, "run the role by a playbook, in a project of Ansible roles")
	renamed(command, "namespaced", "scope namespaced")
	renamed(command, "cluster", "scope cluster")
	renamed(command, "no-controller", "controller=false")
	completeWith(command, "scope", "namespaced", "cluster")
	command.PreRunE = func(*cobra.Command, []string) error {
		if scope != "namespaced" && scope != "cluster" {
			return usageError{fmt.Errorf("--scope %s: want namespaced or cluster", scope)}
		}
		wanted.Cluster, wanted.NoController = scope == "cluster", !controller
		return nil
	}
	carriesOut(command, &wanted, func(q *questions) { askNames(q, &wanted.Group, &wanted.Version, &wanted.Kind) })
	return command
}

// planner plans the changes of a create command.
type planner interface {
	Plan(ctx context.Context, tell func(string)) (*scaffold.Plan, error)
}

// carriesOut makes a command ask for missing values, plan the changes, and write or show them.
func carriesOut(command *cobra.Command, wanted planner, ask func(*questions)) {
	dryRun := command.Flags().Bool("dry-run", false, "print the files and write nothing")
	command.RunE = func(command *cobra.Command, _ []string) error {
		asked := newQuestions(command)
		if ask(asked); asked.err != nil {
			return asked.err
		}
		plan, err := wanted.Plan(command.Context(), tell)
		if err != nil {
			return err
		}
		return carryOut(command, plan, *dryRun)
	}
}

// nameFlags add the flags that name a kind in a project.
func nameFlags(command *cobra.Command, dir, group, version, kind *string) {
	set := command.Flags()
	set.StringVar(dir, "dir", ".", "`DIR` of the project")
	set.StringVar(group, "group", "", "group of the API, such as cache.example.com; without a dot, the domain of the project is appended")
	set.StringVar(version, "version", "", "version of the API, such as v1alpha1")
	set.StringVar(kind, "kind", "", "name of the kind, such as Memcached")
	_ = command.MarkFlagDirname("dir")
	completeWith(command, "version", "v1alpha1", "v1beta1", "v1")
}

// askNames asks for the group, version and name of a kind.
func askNames(q *questions, group, version, kind *string) {
	q.ask("group", "Group, such as cache", group, "", present("a group"))
	q.ask("version", "Version", version, "v1alpha1", scaffold.CheckVersion)
	q.ask("kind", "Kind, such as Memcached", kind, "", scaffold.CheckKind)
}

func present(what string) func(string) error {
	return func(answer string) error {
		if answer == "" {
			return errors.New(what + " is needed")
		}
		return nil
	}
}
