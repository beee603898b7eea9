package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/tools/doctor"
)

func newDoctor() *cobra.Command {
	var options doctor.Options
	output, list, fix := "", false, false
	command := &cobra.Command{
		Use:   "doctor [DIR]",
		Short: "Name what will hurt an operator in production",
		Long: `Read the operator's project in DIR (by default the current folder), Operon's or kubebuilder's, its
Go code and its manifests, and name what will hurt in production, each with its place, the
reason and the fix. Nothing is run, and no cluster is needed.

Errors do damage: data lost, objects left behind, a loop that never rests, rights that open
the cluster, an object that an API server refuses. Warnings do it in circumstances that
come in production. Advice makes the operator better to use. It exits with 1 where there
are errors.

What is right all the same is said so at its place, or above the function or type that it is in:
//operon:ignore RULE why (in YAML # operon:ignore RULE why).`,
		Example: `  operon doctor examples/memcached
  operon doctor --rules
  operon doctor --only rbac-wildcard,rbac-secrets
  operon doctor --against HEAD~1          # are the definitions safe upgrades of those of then?
  operon doctor --fix
  operon doctor -o sarif > doctor.sarif`,
		Args: oneFolder,
	}
	set := command.Flags()
	set.BoolVar(&list, "rules", false, "list the rules")
	set.StringSliceVar(&options.Only, "only", nil, "ask these `RULES` only")
	set.StringSliceVar(&options.Skip, "skip", nil, "leave these `RULES` out")
	set.BoolVar(&fix, "fix", false, "fix what can be fixed without a change of meaning, and list it")
	set.StringVar(&options.Against, "against", "", "file or folder of older CustomResourceDefinitions, or a revision of git (`PATH|REV`), that the project's are to be safe upgrades of")
	set.StringVar(&options.Main, "main", "", "folder of the main package, where the project has several")
	set.StringVarP(&output, "output", "o", "text", "how to print the findings: text, json or sarif")
	command.RunE = func(command *cobra.Command, args []string) error {
		print, ok := doctorOutputs[output]
		if !ok {
			return usageError{fmt.Errorf("-o %s: want text, json or sarif", output)}
		}
		if err := options.Check(); err != nil {
			return usageError{err}
		}
		if list {
			return doctor.List(command.OutOrStdout(), doctorLook())
		}
		return examine(command.Context(), command.OutOrStdout(), folderOf(args), options, fix, print)
	}
	return command
}

var doctorOutputs = map[string]func(*doctor.Report, io.Writer) error{
	"text":  func(r *doctor.Report, w io.Writer) error { return r.Text(w, doctorLook()) },
	"json":  (*doctor.Report).JSON,
	"sarif": (*doctor.Report).SARIF,
}

// doctorLook is how standard output wants to be written to.
func doctorLook() doctor.Look {
	look := lookOf(os.Stdout)()
	return doctor.Look{Width: look.Width, Colour: look.Colour}
}

func examine(ctx context.Context, out io.Writer, dir string, options doctor.Options, fix bool, print func(*doctor.Report, io.Writer) error) error {
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
	if err := print(report, out); err != nil {
		return err
	}
	if report.Failed() {
		return exitError{code: exitFailed}
	}
	return nil
}
