package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/projectfile"
	"github.com/operon-framework/operon/internal/tools/up"
)

func newCRD() *cobra.Command {
	command := &cobra.Command{
		Use:   "crd",
		Short: "Check what a changed CRD does to stored objects",
		Long: `Check what a changed CustomResourceDefinition (CRD) would do to the objects that a cluster
has stored, before you apply it.`,
		Example: `  operon crd check config/crd --context production`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon crd\"; did you mean \"operon crd check\"?", args[0])}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newCRDCheck())
	return command
}

func newCRDCheck() *cobra.Command {
	var where up.Where
	output := output{}
	command := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check whether CRDs are safe for stored objects",
		Long: `Compare the CustomResourceDefinitions (CRDs) in files and directories with those in a cluster. If they
differ, read all stored objects, and report fields with data that would be dropped, objects that could
no longer be written, and removed versions in which objects may be stored.

Nothing is written. The exit code is 1 if applying the CRDs would break a stored object.`,
		Example: `  operon crd check config/crd
  operon crd check config/crd --context production -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("want a file or a directory of CustomResourceDefinitions")}
			}
			return nil
		},
	}
	whereFlags(command, &where)
	output.addFlag(command, "the findings", formatName)
	readsProjectFileIn(command, here, projectfile.Excluded{"cluster": {"kubeconfig", "context"}})
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := errors.Join(output.check(), resolveCluster(&where)); err != nil {
			return err
		}
		definitions, err := definitionsIn(args)
		if err != nil {
			return err
		}
		cluster, err := up.Find(command.Context(), where)
		if err != nil {
			return err
		}
		report, err := crdcompat.Check(command.Context(), cluster.Config, nil, definitions...)
		if err != nil {
			return err
		}
		return printFindings(command, report, output)
	}
	return command
}

// definitionsIn reads the CRDs in files and directories.
func definitionsIn(paths []string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, path := range paths {
		objects, err := manifestsAt(path)
		if err != nil {
			return nil, unread(path, err)
		}
		before := len(all)
		for _, object := range objects {
			if object.GetKind() == "CustomResourceDefinition" {
				all = append(all, object.Unstructured)
			}
		}
		if len(all) == before {
			return nil, fmt.Errorf("%s has no CustomResourceDefinition in it: %s", path, whichPath)
		}
	}
	return all, nil
}

// whichPath states the remedy for an unusable path.
const whichPath = "name a file or a directory of CustomResourceDefinitions, such as config/crd"

// unread returns an error that explains why a path cannot be read.
func unread(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file or directory %s: %s", path, whichPath)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("you are not allowed to read %s: let its owner make it readable, or name another one", path)
	}
	return err
}

// manifestsAt reads a file, or a directory including the directories that controller-gen writes in it.
func manifestsAt(path string) ([]project.Object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		objects, err := project.ReadFile("", path)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; want manifests in YAML or JSON: %s", err, whichPath)
		}
		return objects, err
	}
	objects, err := project.ReadFolder("", path)
	if err != nil {
		return nil, err
	}
	generated, err := project.ReadFolder("", filepath.Join(path, "bases"))
	return append(objects, generated...), err
}

func printFindings(command *cobra.Command, report *crdcompat.Report, output output) error {
	var names []string
	for _, one := range report.Definitions {
		names = append(names, nameLine("CustomResourceDefinition", one.Name))
	}
	text := func(out io.Writer) error { _, err := fmt.Fprint(out, report); return err }
	if err := output.print(command.OutOrStdout(), forms{facts: report, text: text, names: names}); err != nil {
		return err
	}
	if !report.Safe() {
		return exitError{code: exitFindings}
	}
	return nil
}
