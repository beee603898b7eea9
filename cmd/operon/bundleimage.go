package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/image"
)

func newBundleImage() *cobra.Command {
	var how making
	command := &cobra.Command{
		Use:   "image DIR",
		Short: "Build the image of a bundle",
		Long: `Build the image of the bundle in DIR, in the layout registry+v1, from which catalogs and the Operator
Lifecycle Manager read it. The image has the directories manifests, metadata and tests, and the
annotations of the bundle as labels. The same bundle gives the same image.

The image is loaded into the nodes of the local cluster, or goes where --tar, --layout and --push say.`,
		Example: `  operon bundle image bundle --push registry.example.com/web-bundle:1.2.0
  operon bundle image bundle --image web-bundle:1.2.0 --layout images`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("want one directory with a bundle, got %d", len(args))}
			}
			return nil
		},
	}
	command.Flags().StringVar(&how.name, "image", "", "name of the `IMAGE` (required, unless it is pushed)")
	how.delivering.addFlags(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := how.check(); err != nil {
			return usageError{err}
		}
		b, err := bundle.Read(args[0])
		if err != nil {
			return err
		}
		if err := readable(b); err != nil {
			return err
		}
		how.labels = b.Annotations()
		how.portable()
		return how.make(command, "operon bundle image", func(context.Context, string) ([]image.File, error) { return bundleFiles(args[0]) })
	}
	return command
}

// readable returns the errors of a bundle that cannot become an image.
func readable(b *bundle.Bundle) error {
	if !b.Registry() {
		return fmt.Errorf("%s has the older layout: run operon bundle convert first", b.Dir)
	}
	var problems []error
	for _, problem := range b.Problems {
		problems = append(problems, problem)
	}
	return errors.Join(problems...)
}

// bundleFiles returns the files of a bundle that belong into its image.
func bundleFiles(dir string) ([]image.File, error) {
	files, err := image.Tree(dir)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(file image.File) bool {
		top, _, _ := strings.Cut(file.Path, "/")
		return top != "manifests" && top != "metadata" && top != "tests"
	})
	for _, file := range files {
		if file.Link != "" {
			return nil, fmt.Errorf("%s is a symbolic link, which lifecycle managers refuse: replace it by the file", filepath.Join(dir, file.Path))
		}
	}
	return readOnly(files), nil
}

// readOnly returns files with the same modes wherever they come from, such as a checkout of somebody with another umask.
func readOnly(files []image.File) []image.File {
	for i := range files {
		if files[i].Mode = 0o644; files[i].Folder {
			files[i].Mode = 0o755
		}
	}
	return files
}
