package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/ship/image/debian"
	"github.com/operon-framework/operon/internal/tools/projectfile"
)

func newImage() *cobra.Command {
	command := &cobra.Command{
		Use:   "image COMMAND",
		Short: "Build images from directories or packages, and manage images of the local cluster",
		Long: `Build container images without a registry, and manage the images of the local cluster.
To build the image of an operator, use "operon build".`,
		Example: `  operon image from-dir rootfs --image web --entrypoint /bin/web
  operon image from-debian memcached --without perl --image memcached:1.6 --entrypoint /usr/bin/memcached --user 65532
  operon image ls`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon image\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newFromDir(), newFromDebian())
	for _, verb := range imageVerbs {
		command.AddCommand(passedOn("operon", []string{"image", verb.name}, "image-"+verb.name, verb.short))
	}
	return command
}

// imageVerbs are the commands of operon-cluster for images.
var imageVerbs = []struct{ name, short string }{
	{"load", "Load images from files into the nodes of a local cluster"},
	{"ls", "List the images in a local cluster"},
	{"rm", "Remove images from a local cluster"},
}

// making contains the settings for an image that is built from files.
type making struct {
	delivering
	name, platform, user, workdir string
	entrypoint, cmd, env          []string
	labels                        map[string]string
}

func (m *making) addFlags(command *cobra.Command) {
	set := command.Flags()
	set.StringVar(&m.name, "image", "", "name of the `IMAGE` (required, unless it is pushed)")
	set.StringArrayVar(&m.entrypoint, "entrypoint", nil, "program that containers run; repeat the flag for fixed arguments")
	set.StringArrayVar(&m.cmd, "cmd", nil, "default argument of the program; repeat the flag for more")
	set.StringVar(&m.user, "user", "", "user of the process, `UID` or UID:GID (default: root)")
	set.StringArrayVar(&m.env, "env", nil, "environment variable, `NAME=VALUE`; repeat the flag for more")
	set.StringVar(&m.workdir, "workdir", "", "working `DIR` (default: /)")
	set.StringToStringVar(&m.labels, "label", nil, "labels, `NAME=VALUE`; repeat the flag for more")
	set.Lookup("label").DefValue = "" // pflag prints an empty map as a default
	m.delivering.addFlags(command)
}

func (m *making) check() error {
	var problems []error
	if m.name == "" {
		m.name = m.Push
	}
	if m.name == "" {
		problems = append(problems, errors.New("the image needs a name: --image NAME"))
	}
	for _, variable := range m.env {
		if name, _, ok := strings.Cut(variable, "="); !ok || name == "" {
			problems = append(problems, fmt.Errorf("--env %s: want NAME=VALUE", variable))
		}
	}
	if _, err := image.ParsePlatform(m.platform); err != nil {
		problems = append(problems, fmt.Errorf("--platform: %w", err))
	}
	return errors.Join(append(problems, m.delivering.check())...)
}

// portable gives an image without programs the same platform, and thereby the same digest, on every machine. Nodes only take images for their own.
func (m *making) portable() {
	if len(m.Files()) > 0 || m.Push != "" {
		m.platform = "linux/amd64"
	}
}

// make builds an image from the files that list returns, and delivers it. list may use a directory.
func (m *making) make(command *cobra.Command, by string, list func(context.Context, string) ([]image.File, error)) (err error) {
	name, err := image.ParseName(m.name)
	if err != nil {
		return err
	}
	ctx := command.Context()
	if err := m.Ready(ctx); err != nil {
		return err
	}
	progress := newProgress(command.ErrOrStderr())
	defer progress.done()
	m.Delivery.Tell = progress.tell
	scratch, err := image.NewScratch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	files, err := list(ctx, scratch.Folder())
	if err != nil {
		return err
	}
	made, layer, err := scratch.MakeSingle(ctx, image.Single{By: by, Platform: m.platform, Run: m.config(), Files: files})
	if err != nil {
		return err
	}
	delivered, err := scratch.Deliver(ctx, name, made, m.Delivery)
	progress.done()
	if err != nil {
		return err
	}
	digest := made.Descriptor.Digest.String()
	return m.print(command.OutOrStdout(), madeImage{Name: name.Short, Digest: digest, Delivered: delivered, Platforms: []madePart{{
		Platform: made.Descriptor.Platform.String(), Digest: digest, Size: layer.Descriptor.Size,
		Layers: []madeLayer{{layer.Descriptor.Digest.String(), layer.Descriptor.Size}},
	}}})
}

func (m *making) config() v1.Config {
	return v1.Config{Entrypoint: m.entrypoint, Cmd: m.cmd, User: m.user, Env: m.env, WorkingDir: m.workdir, Labels: m.labels}
}

func newFromDir() *cobra.Command {
	var how making
	command := &cobra.Command{
		Use:   "from-dir DIR",
		Short: "Build an image from a directory",
		Long: `Build a container image with the files in DIR as its root file system. In the image, all files belong
to root and have no timestamps, so that the same files give the same image.

The image is loaded into the nodes of the local cluster, or goes where --tar, --layout and --push say.`,
		Example: `  operon image from-dir rootfs --image web --entrypoint /bin/web
  operon image from-dir rootfs --image web:2 --user 65532 --env MODE=fast --tar web.tar`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("want one directory, got %d", len(args))}
			}
			return nil
		},
	}
	how.addFlags(command)
	readsProjectFileIn(command, here, projectfile.Excluded{"cluster": {"push", "tar", "layout"}})
	command.Flags().StringVar(&how.platform, "platform", "", "platform of its programs (default: linux and this machine's architecture)")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := how.check(); err != nil {
			return usageError{err}
		}
		return how.make(command, "operon image from-dir", func(context.Context, string) ([]image.File, error) { return image.Tree(args[0]) })
	}
	return command
}

func newFromDebian() *cobra.Command {
	var how making
	var options debian.Options
	command := &cobra.Command{
		Use:   "from-debian PACKAGE...",
		Short: "Build an image from Debian packages of this machine's package source",
		Long: `Build a container image from Debian packages and their dependencies, from the package source that apt
on this machine uses. Root permissions are not needed.

Package scripts are not run, and packages that only those need (debconf, adduser and so on) are left
out, like manuals and translations. busybox gets the links that its official image has.

The image is loaded into the nodes of the local cluster, or goes where --tar, --layout and --push say.`,
		Example: `  operon image from-debian busybox-static --image busybox --cmd sh
  operon image from-debian memcached --without perl --image memcached:1.6 --entrypoint /usr/bin/memcached --user 65532
  operon image from-debian mariadb-server --image mariadb --tar mariadb.tar`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name at least one package, such as memcached")}
			}
			for _, name := range args {
				if strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n'\"/") {
					return usageError{fmt.Errorf("%q is not a valid name of a Debian package", name)}
				}
			}
			return nil
		},
	}
	how.addFlags(command)
	readsProjectFileIn(command, here, projectfile.Excluded{"cluster": {"push", "tar", "layout"}})
	command.Flags().StringSliceVar(&options.Without, "without", nil, "`PACKAGES` to leave out, even if others depend on them")
	command.Flags().BoolVar(&options.Documentation, "documentation", false, "keep manuals and translations")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := how.check(); err != nil {
			return usageError{err}
		}
		options.Packages = args
		return how.make(command, "operon image from-debian "+strings.Join(args, " "), func(ctx context.Context, folder string) ([]image.File, error) {
			options.Tell = how.Delivery.Tell
			root, err := debian.Unpack(ctx, folder, options)
			if err != nil {
				return nil, err
			}
			how.platform = root.Platform()
			return root.Files, nil
		})
	}
	return command
}
