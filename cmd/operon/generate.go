package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/generate"
)

func newGenerate() *cobra.Command {
	var settings generate.Settings
	check, dryRun := false, false
	command := &cobra.Command{
		Use:   "generate [DIR]",
		Short: "Generate everything that a project's Go types tell",
		Long: `Generate what can be derived from the Go types of the project in DIR (by default the
current folder): deepcopy methods, CustomResourceDefinitions, Roles, and webhook configurations
where the code has markers for them.

What a project wants to have different it says once, in its main package:

  //go:generate operon generate --max-description 0

Flags on the command line override that line. In a project of kubebuilder or Operator SDK the
controller-gen lines of its Makefile say what is generated, and where.

Only files that differ are written, all of them or none.`,
		Example: `  operon generate
  operon generate --check             # for CI: fails with a diff where something is stale
  operon generate --dry-run examples/memcached`,
		Args: oneFolder,
	}
	set := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	settings.AddFlags(set)
	command.Flags().AddFlagSet(set)
	command.Flags().BoolVar(&check, "check", false, "write nothing; fail with a diff where generated files are stale")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing; list the files that would change")
	command.RunE = func(command *cobra.Command, args []string) error {
		result, err := generate.Plan(command.Context(), folderOf(args), generate.Options{Flags: given(set)})
		if err != nil {
			return err
		}
		switch {
		case check:
			return checkGenerated(command, result)
		case dryRun:
			stale, err := result.Changes.Stale()
			return listGenerated(command, stale, err)
		}
		changed, err := result.Changes.Apply(command.Context())
		return listGenerated(command, changed, err)
	}
	return command
}

// given are the flags of set that stand on the command line.
func given(set *pflag.FlagSet) []string {
	var flags []string
	set.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		value := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = ""
			for i, element := range list.GetSlice() {
				if i > 0 {
					value += ","
				}
				value += element
			}
		}
		flags = append(flags, "--"+flag.Name+"="+value)
	})
	return flags
}

func listGenerated(command *cobra.Command, files []string, err error) error {
	for _, file := range files {
		fmt.Fprintln(command.OutOrStdout(), file)
	}
	return err
}

func checkGenerated(command *cobra.Command, result *generate.Result) error {
	diff, err := result.Changes.Diff()
	if err != nil || diff == "" {
		return err
	}
	fmt.Fprint(command.OutOrStdout(), diff)
	return fmt.Errorf("generated files are stale: run `operon generate` and commit what it writes")
}
