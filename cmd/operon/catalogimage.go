package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/image"
)

// Where a lifecycle manager finds the catalog in an image, and the label that says so.
const (
	configsDir   = "configs"
	configsLabel = "operators.operatorframework.io.index.configs.v1"
)

func newCatalogImage() *cobra.Command {
	var how making
	command := &cobra.Command{
		Use:   "image DIR",
		Short: "Build the image of a catalog",
		Long: `Build the image of the file-based catalog in DIR for a ClusterCatalog, or for a CatalogSource with
spec.grpcPodConfig.extractContent, because the image has no command. A catalog with problems is not built.
The same catalog gives the same image.

The image is loaded into the nodes of the local cluster, or goes where --tar, --layout and --push say.`,
		Example: `  operon catalog image catalog --push registry.example.com/catalog:latest
  operon catalog image catalog --image catalog:1 --layout images`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("want one directory with a catalog, got %d", len(args))}
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
		read, err := catalog.Read(args[0])
		if err != nil {
			return err
		}
		if read.Check(); len(read.AllProblems()) > 0 {
			return fmt.Errorf("the catalog has problems: run operon catalog validate %s; the first one is: %w", args[0], read.AllProblems()[0])
		}
		how.labels = map[string]string{configsLabel: "/" + configsDir}
		how.portable()
		return how.make(command, "operon catalog image", func(context.Context, string) ([]image.File, error) { return catalogFiles(args[0]) })
	}
	return command
}

// catalogFiles returns the files of a catalog in the directory of the image, and no others: anyone can read an image.
func catalogFiles(dir string) ([]image.File, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; name the directory of the catalog", dir)
	}
	var files []image.File
	err := catalog.Stream(dir, catalog.Visitor{File: func(path string) error {
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		file, err := image.FromDisk(configsDir+"/"+filepath.ToSlash(relative), 0o644, path)
		files = append(files, file)
		return err
	}})
	return files, err
}
