package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/create"
)

func newBundle() *cobra.Command {
	command := &cobra.Command{
		Use:   "bundle",
		Short: "Create, check, test, run and convert bundles of the Operator Lifecycle Manager",
		Long: `Create, check, test, run and convert operator bundles, the packages from which the Operator Lifecycle Manager (OLM)
installs operators. Both layouts are read: registry+v1, and the older one with a package.yaml file.`,
		Example: `  operon bundle create --version 1.2.0 --image registry.example.com/web@sha256:...
  operon bundle lint bundle
  operon bundle convert packages/memcached bundles`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon bundle\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newBundleCreate(), newBundleLint(), newBundleCheck(), newBundleTest(), newBundleRun(), newBundleImage(), newBundlePull(), newBundleConvert())
	return command
}

func newBundleCreate() *cobra.Command {
	options, output := create.Options{}, output{}
	command := &cobra.Command{
		Use:   "create [DIR]",
		Short: "Create a bundle of an operator project",
		Long: `Create the bundle of the operator project in DIR (default: the current directory): the CSV, the CRDs and
the other objects that "operon deploy" would install, in the layout registry+v1.

Deployments, permissions, kinds, samples, webhooks and images in the CSV follow from the project.
Descriptions, icons, links and maintainers come from the CSV in config/manifests/bases, if it exists.
With --previous, the bundle replaces an older one. The same project gives the same bundle.

The directory of the bundle must be empty, or hold a bundle of the package that Operon made, unless
--overwrite is set. Manifests that the bundle no longer has are removed and listed. All other files stay.`,
		Example: `  operon bundle create --version 1.2.0 --image registry.example.com/web@sha256:...
  operon bundle create --version 1.3.0 --image registry.example.com/web:1.3.0 --previous ../web-1.2.0/bundle
  operon bundle create --version 1.3.0 --image registry.example.com/web:1.3.0 --use-image-digests --requires 'cert-manager=>=1.12.0'
  operon bundle lint bundle`,
		Args: oneDirectory,
	}
	set := command.Flags()
	set.StringVar(&options.Version, "version", "", "`VERSION` of the operator, such as 1.2.0")
	set.StringVar(&options.Image, "image", "", "`IMAGE` of the operator, best by digest")
	set.StringVar(&options.Package, "package", "", "`NAME` of the package (default: that of the previous bundle, or of the operator)")
	set.StringSliceVar(&options.Channels, "channels", nil, "`CHANNELS` that offer the version (default: those of the previous bundle, or candidate below 1.0.0, or stable)")
	set.StringVar(&options.DefaultChannel, "default-channel", "", "default `CHANNEL` of the package (default: that of the previous bundle, or the first one)")
	set.StringVar(&options.Previous, "previous", "", "`DIR` of the bundle that this one replaces")
	set.StringVar(&options.SkipRange, "skip-range", "", "`RANGE` of versions that can be upgraded to this one directly, such as \">=1.0.0 <1.2.0\"")
	set.StringArrayVar(&options.Requires, "requires", nil, "`PACKAGE=RANGE` of versions that the operator needs, such as \"cert-manager=>=1.12.0 <2.0.0\"; can be repeated (those of older bundles stay)")
	set.BoolVar(&options.UseImageDigests, "use-image-digests", false, "replace the tags of all images by their digests, which the registries are asked for")
	set.StringVar(&options.Out, "to", "", "`DIR` of the bundle (default: the directory bundle of the project)")
	set.BoolVar(&options.Overwrite, "overwrite", false, "replace the bundle in a directory with files that are not of a bundle of this package made by Operon")
	set.StringVar(&options.Main, "main", "", "`DIR` of the main package, if the project has several")
	output.addFlag(command, "the bundle")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		options.Dir = directoryOf(args)
		made, err := create.Run(command.Context(), options)
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: made, text: func(out io.Writer) error { return printBundle(out, made) }})
	}
	return command
}

func printBundle(out io.Writer, made *create.Result) error {
	var modes []string
	for _, mode := range made.InstallModes {
		modes = append(modes, string(mode))
	}
	lines := []string{fmt.Sprintf("%s: %s, in %s, for %s", made.Name, made.Dir, strings.Join(made.Channels, ", "), strings.Join(modes, ", "))}
	if made.Replaces != "" {
		lines = append(lines, "replaces "+made.Replaces)
	}
	for _, file := range made.Removed {
		lines = append(lines, "removed "+file)
	}
	for _, note := range made.Notes {
		lines = append(lines, "note: "+note)
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
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
			return printRules(command.OutOrStdout(), output, bundle.Rules())
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
