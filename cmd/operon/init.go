package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

func newInit() *cobra.Command {
	var wanted scaffold.Init
	var chart scaffold.FromChart
	dryRun, from := false, ""
	command := &cobra.Command{
		Use:   "init [NAME] [--from helm CHART | --from ansible]",
		Short: "Create an operator project",
		Long: `Create an operator project in the directory NAME, or in the current directory: go.mod, go.sum, main.go
and README.md. "operon create api" adds a kind.

With --from helm, the project has no Go sources. It is an operator whose custom resources are releases of the Helm chart in the
directory or archive CHART. The schema of its kind and its permissions are derived from the chart.

With --from ansible, the operator runs an Ansible role for each custom resource. "operon create api" adds further kinds.

No file is overwritten, and a command that fails leaves nothing behind.`,
		Example: `  operon init memcached-operator
  operon init memcached-operator --domain example.com --module example.com/team/memcached-operator
  operon init till-operator --from helm ./charts/till --group shop
  operon init kiosk-operator --from ansible --group shop --kind Kiosk
  operon init --ci --dry-run          # in the current directory: print what would be written`,
		Args: func(command *cobra.Command, args []string) error {
			switch from {
			case "", "ansible":
				return oneDirectory(command, args)
			case "helm":
				if len(args) == 0 || len(args) > 2 {
					return usageError{errors.New("--from helm: want a chart, after the directory of the project, as in `operon init till-operator --from helm ./charts/till`")}
				}
				return nil
			}
			return fmt.Errorf("--from %s: want helm or ansible", from)
		},
	}
	set := command.Flags()
	set.StringVar(&wanted.Domain, "domain", "", `domain of the API groups (default "example.com")`)
	set.StringVar(&wanted.Module, "module", "", "path of the Go module (default DOMAIN/NAME)")
	set.StringVar(&wanted.Operon, "operon", "", "`VERSION` of the Operon module, or the directory of a checkout (default: the release of this command; a command that is not a release refers to its checkout)")
	set.StringVar(&from, "from", "", "create an operator without Go from something else: `helm`, followed by a chart, or ansible")
	set.StringVar(&chart.Group, "group", "", `with --from: API group, without the domain (default "charts" or "apps")`)
	set.StringVar(&chart.Version, "version", "", `with --from: API version (default "v1alpha1")`)
	set.StringVar(&chart.Kind, "kind", "", "with --from: kind (default: the name of the chart or of the directory, in CamelCase)")
	set.BoolVar(&wanted.CI, "ci", false, "add CI workflows that test and release the project")
	set.BoolVar(&dryRun, "dry-run", false, "print the files, and write nothing")
	command.RunE = func(command *cobra.Command, args []string) error {
		if from != "" {
			if wanted.Module != "" || wanted.Operon != "" {
				return usageError{errors.New("--module and --operon are for projects with Go sources: leave them out with --from")}
			}
			chart.Domain, chart.CI = wanted.Domain, wanted.CI
			if from == "helm" {
				return initFromChart(command, chart, args, dryRun)
			}
			role := scaffold.FromAnsible{Dir: directoryOf(args), Domain: chart.Domain, Group: chart.Group, Version: chart.Version, Kind: chart.Kind, CI: chart.CI}
			return initProject(command, role, args, dryRun)
		}
		if chart.Group != "" || chart.Version != "" || chart.Kind != "" {
			return usageError{errors.New("--group, --version and --kind are for projects without Go: use --from, or add a kind later with `operon create api`")}
		}
		wanted.Dir = directoryOf(args)
		return initProject(command, wanted, args, dryRun)
	}
	return command
}

// initProject creates a project, in the directory that the first argument names.
func initProject(command *cobra.Command, wanted planner, args []string, dryRun bool) error {
	plan, err := wanted.Plan(command.Context(), tell)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		plan.Next = append([]string{"cd " + args[0]}, plan.Next...)
	}
	return carryOut(command, plan, dryRun)
}

// initFromChart creates a project from the chart that the last argument names.
func initFromChart(command *cobra.Command, wanted scaffold.FromChart, args []string, dryRun bool) error {
	last := len(args) - 1
	wanted.Chart, wanted.Dir = args[last], directoryOf(args[:last])
	return initProject(command, wanted, args[:last], dryRun)
}

// tell prints the current step, for steps that take long.
func tell(doing string) {
	if !global.quiet {
		fmt.Fprintln(os.Stderr, doing)
	}
}

// carryOut writes or shows the planned changes, and prints the next steps.
func carryOut(command *cobra.Command, plan *scaffold.Plan, dryRun bool) error {
	out := command.OutOrStdout()
	if dryRun {
		text, err := plan.Preview()
		if err == nil {
			_, err = fmt.Fprint(out, text)
		}
		return err
	}
	words := map[string]string{}
	for _, path := range plan.Paths() {
		words[path] = "changed"
		if plan.Creates(path) {
			words[path] = "created"
		}
	}
	written, err := plan.Apply(command.Context())
	if err != nil {
		return err
	}
	shown := shownFolder(plan.Dir())
	for _, path := range written {
		fmt.Fprintf(out, "%s %s\n", words[path], filepath.Join(shown, path))
	}
	if len(plan.Next) > 0 {
		fmt.Fprintln(out, "next:")
	}
	for _, line := range plan.Next {
		fmt.Fprintf(out, "  %s\n", line)
	}
	return nil
}

// shownFolder returns a directory relative to the current one if it is inside it.
func shownFolder(dir string) string {
	current, err := os.Getwd()
	if err != nil {
		return dir
	}
	relative, err := filepath.Rel(current, dir)
	if err != nil || !filepath.IsLocal(relative) {
		return dir
	}
	return relative
}
