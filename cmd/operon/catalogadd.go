package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/bundle/images"
	"github.com/operon-framework/operon/internal/ship/catalog/edit"
)

func newCatalogAdd() *cobra.Command {
	var how edit.Options
	command := &cobra.Command{
		Use:   "add DIR BUNDLE|IMAGE...",
		Short: "Add bundles to a catalog",
		Long: `Add bundles, in directories or images, to the catalog in DIR, each at the head of its channels. It
replaces the head until then, unless its ClusterServiceVersion names what it replaces.

Only the channels are changed: comments, other objects and their order stay. A package that the catalog
does not have gets a file of its own. If the package would have problems, nothing is written.

--image names the images as in operon catalog render.`,
		Example: `  operon catalog add catalog bundle --image "registry.example.com/{package}-bundle:{version}"
  operon catalog add catalog bundle --channel candidate --channel stable`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError{errors.New("want a directory with a catalog, and directories or images with bundles")}
			}
			return nil
		},
	}
	set := command.Flags()
	set.StringVar(&how.Image, "image", "", "name of the `IMAGE` of each bundle")
	set.StringArrayVar(&how.Channels, "channel", nil, "`CHANNEL` that gets the bundles, repeatable (default: those that the bundles name)")
	command.RunE = func(command *cobra.Command, args []string) (err error) {
		reader := &images.Reader{}
		defer func() { err = errors.Join(err, reader.Close()) }()
		how.Catalog = args[0]
		if how.Bundles, how.Read, err = reader.Split(command.Context(), args[1:]); err != nil {
			return err
		}
		added, err := edit.Add(command.Context(), how)
		if err != nil {
			return err
		}
		for _, one := range added {
			if _, err := fmt.Fprintln(command.OutOrStdout(), one); err != nil {
				return err
			}
		}
		return nil
	}
	return command
}
