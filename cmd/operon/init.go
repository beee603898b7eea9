package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

func newInit() *cobra.Command {
	var wanted scaffold.Init
	dryRun := false
	command := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Create an operator project",
		Long: `Create an operator project in the directory NAME, or in the current directory: go.mod, go.sum, main.go
and README.md. "operon create api" adds a kind.

No file is overwritten, and a command that fails leaves nothing behind.`,
		Example: `  operon init memcached-operator
  operon init memcached-operator --domain example.com --module example.com/team/memcached-operator
  operon init --ci --dry-run          # in the current directory: print what would be written`,
		Args: oneDirectory,
	}
	set := command.Flags()
	set.StringVar(&wanted.Domain, "domain", "", `domain of the API groups (default "example.com")`)
	set.StringVar(&wanted.Module, "module", "", "path of the Go module (default DOMAIN/NAME)")
	set.StringVar(&wanted.Operon, "operon", "", "`VERSION` of the Operon module, or the directory of a checkout (default: the release of this command; a command that is not a release refers to its checkout)")
	set.BoolVar(&wanted.CI, "ci", false, "add CI workflows that test and release the project")
	set.BoolVar(&dryRun, "dry-run", false, "print the files, and write nothing")
	command.RunE = func(command *cobra.Command, args []string) error {
		wanted.Dir = directoryOf(args)
		asked := newQuestions(command)
		asked.ask("domain", "Domain of your API groups", &wanted.Domain, scaffold.DefaultDomain, scaffold.CheckDomain)
		asked.ask("module", "Path of the Go module", &wanted.Module, scaffold.DefaultModule(wanted.Dir, wanted.Domain), scaffold.CheckModule)
		if err := asked.err; err != nil {
			return err
		}
		plan, err := wanted.Plan(command.Context(), tell)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			plan.Next = append([]string{"cd " + args[0]}, plan.Next...)
		}
		return carryOut(command, plan, dryRun)
	}
	return command
}

// tell prints the current step, for steps that take long.
func tell(doing string) { fmt.Fprintln(os.Stderr, doing) }

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
