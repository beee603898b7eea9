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
		Short: "Add a kind and what belongs to it to a project",
		Long: `Add to a project that "operon init" made. What can be derived from the new sources is generated
in the same go, as "operon generate" does it.

Nothing is overwritten, and a command that fails leaves the project as it was. On a terminal you are
asked for what is missing.`,
		Example: `  operon create api --group cache --version v1alpha1 --kind Memcached`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("nothing is called %q%s", args[0], suggestion(command, args[0]))}
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
	var namespaced, controller bool
	command := &cobra.Command{
		Use:   "api",
		Short: "Make a kind: its types, its composer, tests and a sample",
		Long: `Make a kind of a group and version, and register it in main.go: api/VERSION/KIND_types.go holds its
fields, KIND.go what should exist for an object, KIND_test.go tests of that, and
config/samples/KIND.yaml an object to try. All of it works as it is; edit it from there.`,
		Example: `  operon create api --group cache --version v1alpha1 --kind Memcached --short-name mc
  operon create api --group cache.example.com --version v1 --kind CacheClass --plural cacheclasses --cluster
  operon create api --group cache --version v1 --kind Token --no-controller --dry-run`,
		Args: noArguments,
	}
	set := command.Flags()
	nameFlags(command, &wanted.Dir, &wanted.Group, &wanted.Version, &wanted.Kind)
	set.StringVar(&wanted.Plural, "plural", "", "plural of the kind (default: as English has it)")
	set.StringVar(&wanted.ShortName, "short-name", "", "a further, short name for kubectl")
	set.BoolVar(&namespaced, "namespaced", true, "objects are in namespaces")
	set.BoolVar(&wanted.Cluster, "cluster", false, "objects are in no namespace")
	set.BoolVar(&controller, "controller", true, "make a composer for the kind")
	set.BoolVar(&wanted.NoController, "no-controller", false, "make the types only")
	command.PreRunE = func(command *cobra.Command, _ []string) error {
		wanted.Cluster = wanted.Cluster || !namespaced
		wanted.NoController = wanted.NoController || !controller
		return errors.Join(opposites(command, "namespaced", "cluster"), opposites(command, "controller", "no-controller"))
	}
	carriesOut(command, &wanted, func(q *questions) { askNames(q, &wanted.Group, &wanted.Version, &wanted.Kind) })
	return command
}

// planner is what a verb of create is about to do.
type planner interface {
	Plan(ctx context.Context, tell func(string)) (*scaffold.Plan, error)
}

// carriesOut lets a command ask for what is missing, plan what is wanted then, and write it or show it.
func carriesOut(command *cobra.Command, wanted planner, ask func(*questions)) {
	dryRun := command.Flags().Bool("dry-run", false, "print the files, and write nothing")
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
	set.StringVar(dir, "dir", ".", "folder of the project")
	set.StringVar(group, "group", "", "group of the API, such as cache.example.com; without a dot, the project's domain completes it")
	set.StringVar(version, "version", "", "version of the API, such as v1alpha1")
	set.StringVar(kind, "kind", "", "name of the kind, such as Memcached")
	_ = command.MarkFlagDirname("dir")
	completeWith(command, "version", "v1alpha1", "v1beta1", "v1")
}

// askNames asks for what names a kind.
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

// opposites refuses two flags that contradict each other.
func opposites(command *cobra.Command, one, other string) error {
	if command.Flags().Changed(one) && command.Flags().Changed(other) {
		return usageError{fmt.Errorf("give --%s or --%s, not both", one, other)}
	}
	return nil
}
