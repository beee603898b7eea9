package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor"
)

func newBundle() *cobra.Command {
	command := &cobra.Command{
		Use:   "bundle",
		Short: "Check and convert bundles of the Operator Lifecycle Manager",
		Long: `Check and convert operator bundles, the packages from which the Operator Lifecycle Manager (OLM)
installs operators. Both layouts are read: registry+v1, and the older one with a package.yaml file.`,
		Example: `  operon bundle lint bundle
  operon bundle convert packages/memcached bundles`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon bundle\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newBundleLint(), newBundleConvert())
	return command
}

func newBundleLint() *cobra.Command {
	output, list, against := output{}, false, ""
	command := &cobra.Command{
		Use:   "lint DIR...",
		Short: "Check bundles and packages",
		Long: `Check all bundles and packages below directories: files and annotations, the CSV, its Deployments,
permissions, CRDs, samples and webhooks, and the channels of packages. Each finding has its place, the
reason and the fix. Nothing is run, and no cluster is needed.

A version of a package is compared with the one that it replaces: upgrades must not break stored objects.
For a bundle, name the older version with --against. The exit code is 1 if there are errors.`,
		Example: `  operon bundle lint bundle
  operon bundle lint bundle --against ../v1.1.0/bundle
  operon bundle lint operators -o json
  operon bundle lint --rules`,
	}
	set := command.Flags()
	set.BoolVar(&list, "rules", false, "list the rules")
	set.StringVar(&against, "against", "", "`DIR` of the bundle that this one replaces: check that the upgrade is safe")
	output.addFlag(command, "the findings", formatSARIF)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if list {
			return doctor.List(command.OutOrStdout(), bundle.Rules(), lintLook())
		}
		if len(args) == 0 {
			return usageError{errors.New("want a directory with a bundle")}
		}
		report, err := bundle.Lint(args, against)
		if err != nil {
			return err
		}
		if err := printLint(command.OutOrStdout(), output, report); err != nil {
			return err
		}
		if report.Failed() {
			return exitError{code: exitFindings}
		}
		return nil
	}
	return command
}

func newBundleConvert() *cobra.Command {
	output := output{}
	command := &cobra.Command{
		Use:   "convert DIR OUT",
		Short: "Convert a package to bundles in the layout registry+v1",
		Long: `Convert the package in DIR, which has a package.yaml file and a directory for each version, to bundles
in the layout registry+v1: OUT/PACKAGE/VERSION with manifests, metadata and a Dockerfile. For a bundle
that has this layout already, only its CRDs are converted.

CRDs in apiextensions.k8s.io/v1beta1 become v1 CRDs that accept the same objects and keep the same fields.
If that is not possible, nothing is written. No existing file is changed.`,
		Example: `  operon bundle convert packages/memcached bundles`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{errors.New("want two directories: the package, and where to write the bundles")}
			}
			return nil
		},
	}
	output.addFlag(command, "the bundles")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if err := os.MkdirAll(args[1], 0o755); err != nil {
			return err
		}
		made, err := bundle.Convert(command.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: made, text: func(out io.Writer) error { return printConversions(out, made) }})
	}
	return command
}

func printConversions(out io.Writer, all []bundle.Conversion) error {
	for _, one := range all {
		line := fmt.Sprintf("%s: %s, in %s", one.Name, one.Dir, strings.Join(one.Channels, ", "))
		if len(one.Channels) == 0 {
			line = one.Name + ": not converted, no channel leads to it"
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
		for _, change := range one.Changes {
			if _, err := fmt.Fprintln(out, "  "+change); err != nil {
				return err
			}
		}
	}
	return nil
}
