package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/projectfile"
)

func newBuild() *cobra.Command {
	how := building{Options: build.Options{By: identify().Version}}
	command := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build an operator's container image without Docker",
		Long: `Build the container image of the operator project in DIR (default: the current directory), made by
Operon or kubebuilder: the main package as a static binary, CA certificates, the licenses of linked
modules, and nothing else. It has no shell and runs as a non-root user. An SBOM in SPDX format is
attached to the image.

The image of an operator without Go has the program operon-engine, watches.yaml and the charts or
Ansible roles. For roles, it also has Python and Ansible from Debian packages of this machine's
package source.

The image is loaded into the nodes of the local cluster, or goes where --tar, --layout and --push
say. Registry credentials are read from Docker's config.json ($DOCKER_CONFIG or ~/.docker).

The same commit gives the same image, byte for byte, with the same Go and Operon versions (without
Go: and either with or without a release archive). Without changes, nothing is compiled.`,
		Example: `  operon build examples/memcached --tar memcached.tar
  operon build --platform linux/amd64,linux/arm64 --push registry.example.com/team/web:1.2.0 --version 1.2.0
  operon build --layout image -o json`,
		Args: oneDirectory,
	}
	set := command.Flags()
	set.StringSliceVar(&how.Platforms, "platform", nil, "build for these `PLATFORMS` (default: linux and this machine's architecture); several make an image index")
	set.StringVar(&how.name, "image", "", "name of the `IMAGE`, if it is not pushed (default: the operator's name and :latest)")
	renamed(command, "name", "image")
	set.StringVar(&how.Version, "version", "", "version of the operator, for labels and SBOM")
	set.StringToStringVar(&how.Labels, "label", nil, "additional labels, `NAME=VALUE`; repeat the flag for more")
	set.Lookup("label").DefValue = "" // pflag prints an empty map as a default
	set.StringVar(&how.Main, "main", "", "`DIR` of the main package, if the project has several")
	set.StringSliceVar(&how.Tags, "tags", nil, "build `TAGS`")
	set.StringVar(&how.roots, "ca-certificates", "", "`FILE` of additional CA certificates to trust")
	set.BoolVar(&how.Again, "no-cache", false, "compile even if nothing changed since the last build")
	renamed(command, "again", "no-cache")
	how.addFlags(command)
	readsProjectFile(command, projectfile.Excluded{
		"push": {"image", "tar", "layout", "cluster"}, "image": {"push"}, "cluster": {"push", "tar", "layout"}, "platform": nil, "main": nil,
	})
	command.RunE = func(command *cobra.Command, args []string) error { return how.run(command, directoryOf(args)) }
	return command
}

// building contains the settings of `operon build`.
type building struct {
	build.Options
	delivering
	name, roots string
}

func (b building) run(command *cobra.Command, dir string) (err error) {
	if err := errors.Join(b.Options.Check(), b.check()); err != nil {
		return usageError{err}
	}
	if b.roots != "" {
		if b.Roots, err = os.ReadFile(b.roots); err != nil {
			return fmt.Errorf("--ca-certificates: %w", err)
		}
	}
	if err := b.Ready(command.Context()); err != nil {
		return err
	}
	progress := newProgress(command.ErrOrStderr())
	defer progress.done()
	b.Options.Tell, b.Delivery.Tell, b.Ours = progress.tell, progress.tell, b.Files()
	made, err := build.Run(command.Context(), dir, b.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	name, err := image.ParseName(b.nameOr(made.Name))
	if err != nil {
		return err
	}
	delivered, err := made.Store.Deliver(command.Context(), name, made.Image, b.Delivery)
	progress.done()
	if err != nil {
		return err
	}
	if made.Unrevised != "" {
		fmt.Fprintf(command.ErrOrStderr(), "the image has no revision label: %s\n", made.Unrevised)
	}
	return b.print(command.OutOrStdout(), summary(name, made, delivered))
}

func (b building) nameOr(operator string) string {
	if b.name != "" {
		return b.name
	}
	return operator
}

// summary returns the facts about a built image that are printed.
func summary(name image.Name, made *build.Result, delivered image.Delivered) madeImage {
	found := madeImage{Name: name.Short, Digest: made.Image.Descriptor.Digest.String(), Delivered: delivered}
	for _, part := range made.Platforms {
		one := madePart{Platform: part.Platform, Digest: part.Image.Digest.String(), SBOM: part.SBOM.Digest.String(), Unchanged: part.Reused}
		for _, layer := range part.Layers {
			one.Layers = append(one.Layers, madeLayer{layer.Digest.String(), layer.Size})
			one.Size += layer.Size
		}
		found.Platforms = append(found.Platforms, one)
	}
	return found
}

// madeImage is the output for programs.
type madeImage struct {
	Name      string     `json:"name"`
	Digest    string     `json:"digest"`
	Platforms []madePart `json:"platforms"`
	image.Delivered
}

type madePart struct {
	Platform string `json:"platform"`
	Digest   string `json:"digest"`
	// Size is the compressed size of the layers.
	Size   int64       `json:"size"`
	Layers []madeLayer `json:"layers"`
	// SBOM is the digest of the SBOM, the list of modules.
	SBOM string `json:"sbom,omitempty"`
	// Unchanged means that nothing was compiled because no source has changed.
	Unchanged bool `json:"unchanged"`
}

type madeLayer struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// delivering is the destination of an image and the output format.
type delivering struct {
	image.Delivery
	output output
}

func (d *delivering) addFlags(command *cobra.Command) {
	set := command.Flags()
	set.StringVar(&d.Archive, "tar", "", "write the image to a tar `FILE` that container tools can load")
	set.StringVar(&d.Layout, "layout", "", "write the image to the OCI layout in `DIR`")
	set.StringVar(&d.Push, "push", "", "push the image to a registry as `IMAGE`")
	set.StringVar(&d.Cluster, "cluster", "", "local cluster whose nodes get the image (default $OPERON_CLUSTER, or \"default\")")
	d.output.addFlag(command, "the result")
}

func (d *delivering) check() error {
	if err := d.output.check(); err != nil {
		if strings.HasSuffix(d.output.format, ".tar") {
			return fmt.Errorf("%w; --tar %s writes the image to that file", err, d.output.format)
		}
		return err
	}
	if d.Cluster != "" && (len(d.Files()) > 0 || d.Push != "") {
		return errors.New("--cluster cannot be combined with --tar, --layout and --push: the image is loaded into a cluster, or goes elsewhere")
	}
	d.Cluster = cmp.Or(d.Cluster, os.Getenv(clusterVariable))
	return d.Delivery.Check()
}

func (d delivering) print(out io.Writer, made madeImage) error {
	return d.output.print(out, forms{facts: made, text: made.text})
}

// text prints an image as text for users.
func (made madeImage) text(out io.Writer) error {
	for _, part := range made.Platforms {
		unchanged := ""
		if part.Unchanged {
			unchanged = ", unchanged"
		}
		fmt.Fprintf(out, "%s: %.1f MB in %s%s\n", part.Platform, float64(part.Size)/1e6, plural.Count(len(part.Layers), "layer"), unchanged)
	}
	for _, place := range []struct{ what, where string }{
		{"written to", made.Archive}, {"in the layout", made.Layout}, {"pushed to", made.Pushed}, {"in the nodes of cluster", made.Cluster},
	} {
		if place.where != "" {
			fmt.Fprintf(out, "%s %s\n", place.what, place.where)
		}
	}
	_, err := fmt.Fprintf(out, "%s@%s\n", cmp.Or(made.Pushed, made.Name), made.Digest)
	return err
}
