package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/bundle/images"
)

func newBundlePull() *cobra.Command {
	output := output{}
	command := &cobra.Command{
		Use:   "pull IMAGE DIR",
		Short: "Write the bundle in an image to a directory",
		Long: `Write the files of the bundle in IMAGE to DIR, which must be new or empty: the directories manifests,
metadata and tests. The other bundle commands take this directory. Nothing of the image is executed.

The credentials for the registry are those of Docker and similar tools.`,
		Example: `  operon bundle pull registry.example.com/web-bundle:1.2.0 web-1.2.0
  operon bundle lint bundle --against web-1.2.0`,
		Args: wants(2, "an image and a directory"),
	}
	output.addFlag(command, "the files")
	command.RunE = func(command *cobra.Command, args []string) (err error) {
		if err := output.check(); err != nil {
			return err
		}
		reader := &images.Reader{}
		defer func() { err = errors.Join(err, reader.Close()) }()
		copied, err := reader.Copy(command.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: copied, text: func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "%s with the digest %s: %s in %s\n", copied.Image, copied.Digest, plural.Count(len(copied.Files), "file"), copied.Dir)
			return err
		}})
	}
	return command
}
