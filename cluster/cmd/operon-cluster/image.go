package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/cluster/internal/image"
	"github.com/operon-framework/operon/cluster/internal/instance"
)

func newImage() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "Load, list and remove the images of a cluster's container node",
		Example: `  operon image load memcached.tar
  operon image ls`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newImageLoad(), newImageList(), newImageRemove())
	return command
}

func newImageLoad() *cobra.Command {
	command := &cobra.Command{
		Use:   "load FILE...",
		Short: "Load images into the container node",
		Long: `Load images into the container node from tar files as written by "docker save", or
in OCI layout. Pods can use them immediately. Images with the tag latest, or without
a tag, need imagePullPolicy: IfNotPresent or Never.`,
		Example: `  operon image load memcached.tar
  operon image load --cluster dev a.tar b.tar`,
		Args: atLeastOne("FILE"),
	}
	name, output := nameFlag(command), outputFlag(command, "the result", formatName)
	command.RunE = func(command *cobra.Command, files []string) error {
		loaded, err := instance.LoadImages(command.Context(), *name, files...)
		if err != nil {
			return err
		}
		text := func() error {
			for _, one := range loaded {
				fmt.Fprintf(command.OutOrStdout(), "loaded %s: %.1f MB\n", one.Name, megabytes(one))
			}
			return nil
		}
		return output.print(command.OutOrStdout(), loaded, text, "image", namesOf(loaded)...)
	}
	return command
}

func newImageList() *cobra.Command {
	command := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the images on the container node",
		Example: `  operon image ls -o json`,
		Args:    noArguments,
	}
	name, output := nameFlag(command), outputFlag(command, "the list", formatName)
	command.RunE = func(command *cobra.Command, _ []string) error {
		return withImages(command.Context(), *name, func(store *image.Store) error {
			list, err := store.List(command.Context())
			if err != nil {
				return err
			}
			text := func() error { return printImages(command.OutOrStdout(), list) }
			return output.print(command.OutOrStdout(), list, text, "image", namesOf(list)...)
		})
	}
	return command
}

func namesOf(images []image.Image) []string {
	var names []string
	for _, one := range images {
		names = append(names, one.Name)
	}
	return names
}

func printImages(out io.Writer, list []image.Image) error {
	if len(list) == 0 {
		fmt.Fprintln(out, "no images; load some with `operon image load FILE`")
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSIZE\tDIGEST")
	for _, one := range list {
		fmt.Fprintf(table, "%s\t%.1f MB\t%s\n", one.Name, megabytes(one), one.Digest)
	}
	return table.Flush()
}

func newImageRemove() *cobra.Command {
	command := &cobra.Command{
		Use:     "rm NAME...",
		Short:   "Remove images from the container node",
		Example: `  operon image rm memcached:1.6`,
		Args:    atLeastOne("NAME"),
	}
	name := nameFlag(command)
	command.RunE = func(command *cobra.Command, images []string) error {
		return withImages(command.Context(), *name, func(store *image.Store) error {
			for _, one := range images {
				if err := store.Remove(command.Context(), one); err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "removed %s\n", one)
			}
			return nil
		})
	}
	return command
}

// withImages calls do with the image store of a cluster.
func withImages(ctx context.Context, name string, do func(store *image.Store) error) error {
	store, _, err := instance.Images(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}

func megabytes(one image.Image) float64 { return float64(one.Size) / 1e6 }

// atLeastOne rejects a command line without arguments.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("%s is required; see `%s --help`", what, command.CommandPath())}
		}
		return nil
	}
}
