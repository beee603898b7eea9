package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/doctor"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/projectfile"
)

func newLint() *cobra.Command {
	var options doctor.Options
	output, list, fix := output{}, false, false
	command := &cobra.Command{
		Use:   "lint [DIR]",
		Short: "Check an operator project for production problems",
		Long: `Check the operator project in DIR (default: the current directory), made by Operon or kubebuilder:
its Go code and its manifests. Each finding has its place, the reason and the fix. Nothing is run, and
no cluster is needed.

Errors cause damage: lost data, orphaned objects, hot loops, permissions that compromise the cluster, objects
that the API server rejects. Warnings cause it in situations that occur in production. Advice makes
the operator easier to use. The exit code is 1 if there are errors.

To suppress a finding, write a comment at its place, or above the function or type that contains it:
//operon:ignore RULE why (in YAML # operon:ignore RULE why).`,
		Example: `  operon lint examples/memcached
  operon lint --rules
  operon lint --only rbac-wildcard,rbac-secrets
  operon lint --against HEAD~1          # are the CRDs safe upgrades of the older ones?
  operon lint --fix
  operon lint -o sarif > lint.sarif`,
		Args: oneDirectory,
	}
	set := command.Flags()
	set.BoolVar(&list, "rules", false, "list the rules")
	set.StringSliceVar(&options.Only, "only", nil, "check these `RULES` only")
	set.StringSliceVar(&options.Skip, "skip", nil, "skip these `RULES`")
	set.BoolVar(&fix, "fix", false, "fix what can be fixed without changing behavior, and list it")
	set.StringVar(&options.Against, "against", "", "`PATH|REV` of older CRDs, a file, a directory or a git revision: check that the project's are safe upgrades of them")
	set.StringVar(&options.Main, "main", "", "`DIR` of the main package, if the project has several")
	output.addFlag(command, "the findings", formatSARIF)
	readsProjectFile(command, projectfile.Excluded{"main": nil})
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if err := options.Check(); err != nil {
			return usageError{err}
		}
		if list {
			return printRules(command.OutOrStdout(), output, doctor.Rules())
		}
		return examine(command.Context(), command.OutOrStdout(), directoryOf(args), options, fix, output)
	}
	return command
}

// formatSARIF is a format for code scanning.
const formatSARIF = "sarif"

func printLint(out io.Writer, output output, report *doctor.Report) error {
	if output.format == formatSARIF {
		return report.SARIF(out)
	}
	return output.print(out, forms{json: report.JSON, text: func(out io.Writer) error { return report.Text(out, lintLook()) }})
}

// lintLook returns the width and colors of standard output.
func lintLook() doctor.Look {
	look := lookOf(os.Stdout)()
	return doctor.Look{Width: look.Width, Colour: look.Colour}
}

func examine(ctx context.Context, out io.Writer, dir string, options doctor.Options, fix bool, output output) error {
	report, err := doctor.Examine(ctx, dir, options)
	if err != nil {
		return err
	}
	if fix {
		fixed, err := report.Fix(ctx)
		if err != nil {
			return err
		}
		if err := doctor.Fixed(os.Stderr, fixed, doctor.Look{}); err != nil {
			return err
		}
	}
	if err := printLint(out, output, report); err != nil {
		return err
	}
	if report.Failed() {
		return exitError{code: exitFindings}
	}
	return nil
}

// listedRule is a rule, for programs.
type listedRule struct {
	Name     string        `json:"name"`
	Severity rule.Severity `json:"severity"`
	About    string        `json:"about"`
	Reason   string        `json:"reason"`
	Fix      string        `json:"fix"`
}

// printRules prints the rules of a check.
func printRules(out io.Writer, output output, rules []*rule.Rule) error {
	if output.format == formatSARIF {
		return usageError{errors.New("--rules has the formats text, json and yaml: SARIF is for findings")}
	}
	listed := []listedRule{}
	for _, one := range rules {
		listed = append(listed, listedRule{one.Name, one.Severity, one.About, one.Reason, one.Fix})
	}
	return output.print(out, forms{text: func(out io.Writer) error { return doctor.List(out, rules, lintLook()) }, facts: listed})
}
