// Package lifecycle installs the lifecycle manager in a cluster and uninstalls it, in the same way as any other operator (see package deploy).
// Its image is made from the program, without a build.
package lifecycle

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/manager"
	"github.com/operon-framework/operon/internal/tools/up"
)

// cacheVariable names the directory for images of the manager, and cacheDir is the directory in its pods.
const (
	cacheVariable = "OLM_CACHE_DIR"
	cacheDir      = "/tmp/operon-olm"
)

// DefaultMemory is enough for catalogs with thousands of bundles.
const DefaultMemory = "512Mi"

// Options of Install.
type Options struct {
	deploy.Target

	// Image is an image of the manager that exists. If it is empty, it is made: for the nodes of a local cluster, or for a registry.
	Image string
	// Push is the name under which the image is pushed to a registry.
	Push string
	// Memory is the memory limit of the pod, such as 512Mi. The default is DefaultMemory.
	Memory string
	// DryRun reports what would be done and does nothing.
	DryRun bool
	// Foretold is called with what will be done before it is done. It may be nil.
	Foretold func(*deploy.Result) error
}

// commands are those that messages about the manager refer to.
var commands = deploy.Commands{Deploy: "operon olm install", Undeploy: "operon olm uninstall", DeleteData: "--delete-crds", Logs: "the logs of the manager's pod"}

// Install installs the manager and waits until it is ready. Before anything is written, all objects are tried. It refuses to do so while the
// Operator Lifecycle Manager runs.
func Install(ctx context.Context, options Options) (*deploy.Result, error) {
	m, err := manager.Open(ctx, func(doing string) { options.say("%s", doing) })
	if err != nil {
		return nil, err
	}
	options.Dir, options.Commands = m.Dir, commands
	if err := Alone(ctx, options.Where); err != nil {
		return nil, err
	}
	how := deploy.Options{
		Target: options.Target, Image: options.Image, Memory: cmp.Or(options.Memory, DefaultMemory), Replicas: 1, Scratch: true, DryRun: true,
		UserRoles: userRoles(),
	}
	scratch, made, to, err := options.image(ctx, m)
	if err != nil {
		return nil, err
	}
	if scratch != nil {
		defer scratch.Close()
		how.Image = made.reference
	}
	result, err := deploy.Run(ctx, how)
	if err != nil || options.DryRun {
		return result, err
	}
	if options.Foretold != nil {
		if err := options.Foretold(result); err != nil {
			return nil, err
		}
	}
	if scratch != nil {
		if _, err := scratch.Deliver(ctx, made.name, made.Image, to); err != nil {
			return nil, err
		}
	}
	how.DryRun = false
	return deploy.Run(ctx, how)
}

func (o Options) say(format string, args ...any) {
	if o.Progress != nil {
		fmt.Fprintf(o.Progress, format+"\n", args...)
	}
}

// made is an image with its names.
type made struct {
	image.Image

	name image.Name
	// reference is the name in pods.
	reference string
}

// image makes the image, unless one is named.
func (o Options) image(ctx context.Context, m *manager.Manager) (*image.Scratch, *made, image.Delivery, error) {
	how := deploy.Options{Target: o.Target, Image: o.Image, Push: o.Push}
	if err := how.Check(); err != nil {
		return nil, nil, image.Delivery{}, err
	}
	to, err := how.Destination(ctx)
	to.Tell = func(doing string) { o.say("%s", doing) }
	if err != nil || o.Image != "" {
		return nil, nil, to, err
	}
	if err := static(m.Program); err != nil {
		return nil, nil, to, err
	}
	scratch, err := image.NewScratch(ctx)
	if err != nil {
		return nil, nil, to, err
	}
	found, err := o.build(ctx, scratch, m.Program)
	if err != nil {
		return nil, nil, to, errors.Join(err, scratch.Close())
	}
	return scratch, found, to, nil
}

// build makes an image that consists of the program and of the certificates of authorities.
func (o Options) build(ctx context.Context, store *image.Scratch, program string) (*made, error) {
	roots, err := image.Roots(nil)
	if err != nil {
		return nil, err
	}
	file, err := image.FromDisk("operon-olm", 0o755, program)
	if err != nil {
		return nil, fmt.Errorf("read operon-olm: %w", err)
	}
	user := fmt.Sprintf("%[1]d:%[1]d", build.User)
	single := image.Single{
		By: "operon olm install",
		Files: []image.File{
			file, image.Content("etc/ssl/certs/ca-certificates.crt", 0o644, roots), {Path: "tmp", Folder: true, Mode: 0o1777},
		},
		Run: v1.Config{Entrypoint: []string{"/operon-olm"}, User: user, Env: []string{cacheVariable + "=" + cacheDir}},
	}
	finished, _, err := store.MakeSingle(ctx, single)
	if err != nil {
		return nil, err
	}
	one := &made{Image: finished}
	one.name, one.reference, err = finished.ForPods(o.Push, "operon-olm")
	return one, err
}

// static returns an error if a program needs libraries, which the image does not have.
func static(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("%s cannot run in a container: %w; name an existing image with --image NAME", path.Base(program), err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs libraries of this machine, which the image does not have: build it with CGO_ENABLED=0 and name it in %s, or name an existing image with --image NAME", path.Base(program), manager.Variable)
		}
	}
	return nil
}

// UninstallOptions are the options of Uninstall.
type UninstallOptions struct {
	deploy.UndeployOptions

	// KeepOperators uninstalls the manager although it has installed operators. They keep running.
	KeepOperators bool
	// HandBack makes the operators those of the Operator Lifecycle Manager again. They keep running.
	HandBack bool
}

// Uninstall uninstalls the manager. It refuses to do so while there are operators that it has installed, unless they are to be kept or handed
// back.
func Uninstall(ctx context.Context, options UninstallOptions) (*deploy.Removal, error) {
	m, err := manager.Open(ctx, func(string) {})
	if err != nil {
		return nil, err
	}
	options.Dir = m.Dir
	options.Commands = commands
	switch {
	case options.HandBack:
		err = handBack(ctx, options)
	case !options.KeepOperators:
		err = unused(ctx, options.Where)
	}
	if err != nil {
		return nil, err
	}
	return deploy.Undeploy(ctx, options.UndeployOptions)
}

// connect returns a client of a cluster. manager is the field manager of what it writes.
func connect(ctx context.Context, where up.Where, manager string) (*kube.Client, *rest.Config, error) {
	cluster, err := up.Find(ctx, where)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.New(cluster.Config, manager)
	return client, cluster.Config, err
}

// unused returns an error if a lifecycle manager has installed operators.
func unused(ctx context.Context, where up.Where) error {
	client, _, err := connect(ctx, where, "")
	if err != nil {
		return err
	}
	state, err := olm.Read(ctx, client, "")
	switch {
	case errors.Is(err, olm.ErrNotInstalled):
		return nil
	case err != nil:
		return err
	case len(state.Lacks) > 0:
		return fmt.Errorf("whether operators are installed is not known: %s; --keep-operators does not look", state.Lacks[0])
	case len(state.Versions) > 0:
		first := state.Versions[0]
		return fmt.Errorf("operators are installed (%d), such as %s in namespace %s: remove them with `operon olm remove`, hand them back to the Operator Lifecycle Manager with --hand-back, or add --keep-operators: they keep running, and nothing repairs or upgrades them",
			len(state.Versions), first.Name, first.Namespace)
	}
	return nil
}
