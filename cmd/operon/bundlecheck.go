package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/bundle/check"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

func newBundleCheck() *cobra.Command {
	output, options, list := output{}, check.Options{}, false
	command := &cobra.Command{
		Use:   "check DIR...",
		Short: "Check that the lifecycle manager can run bundles",
		Long: `Check whether the lifecycle manager can run the bundles and packages below directories, in any number.
No cluster is needed. Each bundle is checked by the rules of "operon bundle lint", and:

  files      the CSV, CRDs and annotations are equal after they were written and read again
  CRDs       those in v1beta1 become v1 CRDs that API servers accept, and the samples are valid
  objects    Deployments and permissions for each install mode are those that the CSV asks for
  upgrades   each channel has one head, and upgrades lead to it from each version

A bundle that cannot be read does not stop the others. "failed" is a mistake in the bundle, and "defect"
one of Operon. Dependencies that no bundle in the directories offers are listed. --verbose lists
all bundles. The exit code is 1 if a bundle or a package did not pass.`,
		Example: `  operon bundle check operators
  operon bundle check community upstream --jobs 4 -o json
  operon bundle check --rules`,
	}
	set := command.Flags()
	set.IntVar(&options.Jobs, "jobs", 0, "number of bundles to check at a time (default: the number of processors)")
	set.BoolVar(&list, "rules", false, "list the rules")
	output.addFlag(command, "the results", formatSARIF)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if options.Jobs < 0 {
			return usageError{fmt.Errorf("--jobs %d: want a number above 0", options.Jobs)}
		}
		if list {
			return printRules(command.OutOrStdout(), output, check.Rules())
		}
		if len(args) == 0 {
			return usageError{errors.New("want a directory with bundles")}
		}
		shown := newProgress(command.ErrOrStderr())
		options.Progress = func(done, all int, dir string) { shown.count(done, all, dir) }
		made, err := check.Run(command.Context(), args, options)
		shown.done()
		if err != nil {
			return err
		}
		if err := printCheck(command.OutOrStdout(), output, made); err != nil {
			return err
		}
		if made.Failed() {
			return exitError{code: exitFindings}
		}
		return nil
	}
	return command
}

func printCheck(out io.Writer, output output, made *check.Report) error {
	if output.format == formatSARIF {
		return made.Findings().SARIF(out)
	}
	text := func(out io.Writer) error {
		printed := &checkText{look: lintLook()}
		printed.bundles(made)
		printed.packages(made)
		printed.summary(made)
		_, err := io.WriteString(out, printed.String())
		return err
	}
	return output.print(out, forms{facts: made, text: text})
}

// checkText is the output of "operon bundle check" for people.
type checkText struct {
	strings.Builder
	look terminal.Look
}

var outcomeColors = map[check.Outcome]string{check.Passed: terminal.Green, check.Failed: terminal.Red, check.Defect: terminal.Yellow}

// line prints a result with its first error, and the rules of the others.
func (t *checkText) line(outcome check.Outcome, subject string, all []rule.Finding) {
	text := t.look.Paint(outcomeColors[outcome], terminal.Pad(string(outcome), 6)) + " " + terminal.Line(subject)
	count, names, first := 0, []string{}, ""
	for _, one := range all {
		if one.Severity != rule.Error {
			continue
		}
		if count++; first == "" {
			first = one.Rule + ": " + one.Message
		} else if !slices.Contains(names, one.Rule) {
			names = append(names, one.Rule)
		}
	}
	if first != "" {
		text += ": " + terminal.Cut(terminal.Line(first), 3*terminal.MaxWidth)
	}
	if count > 1 {
		text += fmt.Sprintf("; %d more errors (%s)", count-1, strings.Join(names, ", "))
	}
	fmt.Fprintln(t, text)
}

func (t *checkText) bundles(made *check.Report) {
	for i := range made.Bundles {
		one := &made.Bundles[i]
		if one.Outcome != check.Passed || global.verbose {
			t.line(one.Outcome, strings.TrimSpace(one.Dir+" "+one.Name), one.Findings)
		}
		for _, need := range one.Needs {
			fmt.Fprintf(t, "%s %s needs %s\n", terminal.Pad("", 6), terminal.Line(one.Name), terminal.Line(need))
		}
	}
}

func (t *checkText) packages(made *check.Report) {
	for i := range made.Packages {
		if one := &made.Packages[i]; one.Outcome != check.Passed || global.verbose {
			t.line(one.Outcome, strings.TrimSpace("package "+one.Name+" "+one.Dir), one.Findings)
		}
	}
}

func (t *checkText) summary(made *check.Report) {
	for _, part := range []struct {
		severity string
		rules    map[string]int
	}{{"error", made.Summary.Errors}, {"warning", made.Summary.Warnings}} {
		for _, name := range slices.Sorted(maps.Keys(part.rules)) {
			fmt.Fprintf(t, "%s %s %d\n", terminal.Pad(part.severity, 7), terminal.Pad(name, 22), part.rules[name])
		}
	}
	for _, part := range []struct {
		of string
		check.Count
	}{{"bundle", made.Summary.Bundles}, {"package", made.Summary.Packages}} {
		of := part.of
		if part.All != 1 {
			of += "s"
		}
		fmt.Fprintf(t, "%d %s: %d passed, %d failed, %d with a defect of Operon\n", part.All, of, part.Passed, part.Failed, part.Defects)
	}
}
