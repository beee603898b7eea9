package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/catalog"
)

func newCatalog() *cobra.Command {
	command := &cobra.Command{
		Use:   "catalog",
		Short: "Make, check and compare catalogs of the Operator Lifecycle Manager",
		Long: `Make, check and compare file-based catalogs, from which the Operator Lifecycle Manager (OLM) installs
operators: their packages, channels and bundles.`,
		Example: `  operon catalog render bundles --image "registry.example.com/{package}-bundle:{version}" --to catalog
  operon catalog validate catalog
  operon catalog graph catalog memcached --svg memcached.svg`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon catalog\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newCatalogRender(), newCatalogValidate(), newCatalogDiff(), newCatalogGraph(), newCatalogImage(), newCatalogAdd(), newCatalogServe())
	return command
}

// wants returns a check of the number of arguments.
func wants(number int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != number {
			return usageError{errors.New("want " + what)}
		}
		return nil
	}
}

func newCatalogRender() *cobra.Command {
	image, to, format := "", "", catalog.YAML
	command := &cobra.Command{
		Use:   "render DIR|IMAGE|TEMPLATE...",
		Short: "Make a catalog of bundles, or of a template",
		Long: `Make a file-based catalog of all bundles and packages below directories, in either layout, and of bundles
in images, named with their registry and a tag or digest. The channels and the upgrades between versions
are those that the bundles name.

--image names the images of bundles in directories, from which OLM gets them: {package}, {version} and
{name} are replaced. Without it, the manifests of these bundles are part of the catalog. With --to, each
package is written to a directory of its own; else the catalog is printed.

A file is a template of schema olm.template.basic or olm.semver, in which bundles are named by their
images or by directories. Images of bundles in the directories of the call are not read from a registry.`,
		Example: `  operon catalog render bundles --image "registry.example.com/{package}-bundle:{version}" --to catalog
  operon catalog render bundle-1.2.0 bundle-1.3.0 > catalog.yaml
  operon catalog render registry.example.com/web-bundle:1.2.0 registry.example.com/web-bundle:1.3.0 --to catalog
  operon catalog render semver.yaml bundles --image "registry.example.com/web:v{version}" --to catalog`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("want directories with bundles, images of bundles, or a template")}
			}
			return nil
		},
	}
	set := command.Flags()
	set.StringVar(&image, "image", "", "name of the `IMAGE` of each bundle")
	set.StringVar(&to, "to", "", "`DIR` of the catalog (default: print it)")
	set.StringVar(&format, "format", format, "`FORMAT` of the catalog: yaml or json")
	command.RunE = func(command *cobra.Command, args []string) error {
		if format != catalog.YAML && format != catalog.JSON {
			return usageError{fmt.Errorf("--format %s: want yaml or json", format)}
		}
		made, err := rendered(command.Context(), args, image)
		if err != nil {
			return err
		}
		if made.Check(); len(made.AllProblems()) > 0 {
			return problemsOf(made)
		}
		if to == "" {
			return made.Write(command.OutOrStdout(), format)
		}
		if err := made.Save(command.Context(), to, format); err != nil {
			return err
		}
		_, err = fmt.Fprintf(command.OutOrStdout(), "%s in %s\n", plural.Count(len(made.Packages), "package"), to)
		return err
	}
	return command
}

// problemsOf returns an error with all problems of a catalog.
func problemsOf(c *catalog.Catalog) error {
	var all []error
	for _, one := range c.AllProblems() {
		all = append(all, one)
	}
	return errors.Join(all...)
}

// checkedCatalog is the result of a check.
type checkedCatalog struct {
	Packages int               `json:"packages"`
	Bundles  int               `json:"bundles"`
	Problems []catalog.Problem `json:"problems"`
}

func newCatalogValidate() *cobra.Command {
	output := output{}
	command := &cobra.Command{
		Use:   "validate DIR",
		Short: "Check a catalog",
		Long: `Check the file-based catalog in DIR: its objects, the channels of each package, the upgrades that they
offer, versions, properties, icons and deprecations. Each problem has its file and line. The exit code is
1 if there are problems.`,
		Example: `  operon catalog validate catalog
  operon catalog validate catalog -o json`,
		Args: wants(1, "one directory with a catalog"),
	}
	output.addFlag(command, "the problems")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		found, err := catalog.Read(args[0])
		if err != nil {
			return err
		}
		found.Check()
		result := checkedCatalog{Packages: len(found.Packages), Problems: append([]catalog.Problem{}, found.AllProblems()...)}
		for _, p := range found.Packages {
			result.Bundles += len(p.Bundles)
		}
		err = output.print(command.OutOrStdout(), forms{facts: result, text: func(out io.Writer) error { return printChecked(out, result) }})
		if err == nil && len(result.Problems) > 0 {
			return exitError{code: exitFindings}
		}
		return err
	}
	return command
}

func printChecked(out io.Writer, result checkedCatalog) error {
	for _, one := range result.Problems {
		if _, err := fmt.Fprintln(out, one.Error()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%s, %s, %s\n", plural.Count(result.Packages, "package"), plural.Count(result.Bundles, "bundle"), plural.Count(len(result.Problems), "problem"))
	return err
}

func newCatalogDiff() *cobra.Command {
	output := output{}
	command := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two catalogs",
		Long: `List what users of the catalog in the directory OLD notice when it is replaced by the one in NEW: packages,
channels, bundles, upgrades and deprecations. Changes that can leave installed operators without a way to
newer versions are marked. A catalog with objects that cannot be read is an error.`,
		Example: `  operon catalog diff catalog-old catalog
  operon catalog diff catalog-old catalog -o json`,
		Args: wants(2, "two directories with catalogs: the old one and the new one"),
	}
	output.addFlag(command, "the changes")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		before, err := catalog.Read(args[0])
		if err != nil {
			return err
		}
		after, err := catalog.Read(args[1])
		if err != nil {
			return err
		}
		if err := errors.Join(problemsOf(before), problemsOf(after)); err != nil {
			return err
		}
		changes := append([]catalog.Change{}, catalog.Diff(before, after)...)
		return output.print(command.OutOrStdout(), forms{facts: changes, text: func(out io.Writer) error { return printChanges(out, changes) }})
	}
	return command
}

func printChanges(out io.Writer, changes []catalog.Change) error {
	if len(changes) == 0 {
		_, err := fmt.Fprintln(out, "no changes")
		return err
	}
	for _, one := range changes {
		mark := ""
		if one.Breaks {
			mark = " (affects installed operators)"
		}
		if _, err := fmt.Fprintf(out, "%s: %s%s\n", one.Package, one.Text, mark); err != nil {
			return err
		}
	}
	return nil
}

// onePackage returns the package with the name, or without a name the only package of a catalog.
func onePackage(of *catalog.Catalog, dir string, name []string) (*catalog.Package, error) {
	switch {
	case len(of.Packages) == 0:
		return nil, fmt.Errorf("the catalog %s has no packages; operon catalog validate lists problems", dir)
	case len(name) == 0 && len(of.Packages) == 1:
		return of.Packages[0], nil
	}
	if len(name) == 1 {
		if p := of.Package(name[0]); p != nil {
			return p, nil
		}
	}
	var names []string
	for _, p := range of.Packages[:min(len(of.Packages), 10)] {
		names = append(names, p.Name)
	}
	if more := len(of.Packages) - len(names); more > 0 {
		names = append(names, plural.Count(more, "other"))
	}
	if len(name) == 0 {
		return nil, usageError{fmt.Errorf("want the name of a package; the catalog %s has %s", dir, strings.Join(names, ", "))}
	}
	return nil, fmt.Errorf("the catalog %s has no package %s, only %s; operon catalog validate lists problems", dir, name[0], strings.Join(names, ", "))
}

func newCatalogGraph() *cobra.Command {
	output, svg := output{}, ""
	command := &cobra.Command{
		Use:   "graph DIR [PACKAGE]",
		Short: "Show the upgrades of a package",
		Long: `Show the upgrade graph of a package in the file-based catalog in DIR: the bundles of each channel, and
which ones they replace or skip. PACKAGE is optional if the catalog has one package. With --svg, the graph
is drawn as a picture.`,
		Example: `  operon catalog graph catalog memcached
  operon catalog graph catalog memcached --svg memcached.svg`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usageError{errors.New("want a directory with a catalog, and the name of a package if it has several")}
			}
			return nil
		},
	}
	command.Flags().StringVar(&svg, "svg", "", "draw the graph into `FILE`")
	output.addFlag(command, "the graph")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		found, err := catalog.Read(args[0])
		if err != nil {
			return err
		}
		p, err := onePackage(found, args[0], args[1:])
		if err != nil {
			return err
		}
		found.Packages = []*catalog.Package{p} // the problems of others do not matter
		if err := problemsOf(found); err != nil {
			return err
		}
		graph := p.Graph()
		if svg != "" {
			if err := os.WriteFile(filepath.Clean(svg), []byte(graph.SVG()), 0o644); err != nil { //nolint:gosec // a picture for anyone
				return err
			}
		}
		return output.print(command.OutOrStdout(), forms{facts: graph, text: func(out io.Writer) error {
			_, err := io.WriteString(out, graph.String())
			return err
		}})
	}
	return command
}
