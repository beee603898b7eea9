package build

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/ship/licenses"
	"github.com/operon-framework/operon/internal/ship/sbom"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Result is a built image.
type Result struct {
	// Name is the name of the operator.
	Name string
	// Store contains the image until Close.
	Store *image.Store
	Image image.Image
	// Platforms are its parts; there is one if the image is not an index.
	Platforms []Part
	// Unrevised describes why the labels name no commit although the project is in a repository. It is empty if they do, or if
	// the project is not in a repository.
	Unrevised string

	cache *cache
}

// Part is the image for one platform.
type Part struct {
	Platform string
	Image    v1.Descriptor
	Layers   []v1.Descriptor
	// SBOM is the manifest of the SBOM.
	SBOM v1.Descriptor
	// Reused reports that no source changed, so that nothing was compiled.
	Reused bool
}

// Close allows other processes to build the project.
func (r *Result) Close() error { return r.cache.lock.Unlock() }

// builder builds one image.
type builder struct {
	Options
	project  *project.Project
	tools    toolchain
	settings map[string]string
	revision revision
	cache    *cache
	// stock is nil for operators with Go code.
	stock *stock
	// released is nil if the program has to be compiled.
	released *released
	// packages are the Debian packages in the image.
	packages []sbom.Package
}

// Run builds the image of the project in dir. For errors of the compiler it returns a *CompileError.
func Run(ctx context.Context, dir string, o Options) (*Result, error) {
	platforms, err := o.platforms()
	if err != nil {
		return nil, err
	}
	p, err := project.Identify(dir, project.Options{Main: o.Main})
	if err != nil {
		return nil, err
	}
	c, err := openCache(ctx, p.Dir, func() { o.tell("waiting for another process that builds %s", p.Name) })
	if err != nil {
		return nil, err
	}
	if err := removeGone(); err != nil { // the build continues
		o.tell("cannot remove caches of deleted projects: %v", err)
	}
	result, err := (&builder{Options: o, project: p, cache: c}).run(ctx, platforms)
	if err != nil {
		return nil, errors.Join(err, c.lock.Unlock())
	}
	return result, nil
}

func (b *builder) run(ctx context.Context, platforms []platform) (*Result, error) {
	err := b.prepare(ctx, platforms)
	if err != nil {
		return nil, err
	}
	if b.revision, err = readRevision(ctx, b.project.Dir, b.Ours); err != nil {
		return nil, err
	}
	below, err := b.below(ctx, platforms)
	if err != nil {
		return nil, err
	}
	programs, err := b.programs(ctx, platforms)
	if err != nil {
		return nil, err
	}
	if err := b.review(ctx); err != nil {
		return nil, err
	}
	result := &Result{Name: b.project.Name, Store: b.cache.store, Unrevised: b.revision.Unknown, cache: b.cache}
	for _, one := range programs {
		part, err := b.part(one, below)
		if err != nil {
			return nil, err
		}
		result.Platforms = append(result.Platforms, part)
		result.Image.Attached = append(result.Image.Attached, part.SBOM)
	}
	if result.Image.Descriptor, err = b.root(result.Platforms); err != nil {
		return nil, err
	}
	return result, b.cache.tidy(result.Image)
}

// review marks the revision as dirty if files have changed while they were read.
func (b *builder) review(ctx context.Context) error {
	now, err := readRevision(ctx, b.project.Dir, b.Ours)
	if err == nil && now.Commit != b.revision.Commit {
		b.revision.taint()
	}
	return err
}

// prepare finds the program of a release if it is the one for all platforms, or else the go command.
func (b *builder) prepare(ctx context.Context, platforms []platform) error {
	found, err := b.findReleased()
	if err != nil {
		return err
	}
	if found != nil && !slices.ContainsFunc(platforms, func(p platform) bool { return !found.runsOn(p) }) {
		b.released = found
		return found.verify()
	}
	if b.tools, err = b.toolchain(ctx); err != nil {
		if found != nil {
			err = fmt.Errorf("%s is for %s only: %w", found.file, found.platform, err)
		}
		return err
	}
	b.settings, err = b.tools.settings(ctx)
	return err
}

// below returns the layers below the program. The users in the base replace those of Debian packages.
func (b *builder) below(ctx context.Context, platforms []platform) ([]image.Layer, error) {
	var layers []image.Layer
	if b.project.Main.Stock() {
		var err error
		if b.stock, err = readStock(b.project.Dir); err != nil {
			return nil, err
		}
		if layers, err = b.debian(ctx, platforms); err != nil {
			return nil, err
		}
	}
	base, err := b.base(ctx)
	if err != nil || b.stock == nil {
		return append(layers, base), err
	}
	content, err := b.content(ctx)
	return append(layers, base, content), err
}

func (b *builder) base(ctx context.Context) (image.Layer, error) {
	roots, err := image.Roots(b.Roots)
	if err != nil {
		return image.Layer{}, err
	}
	return b.cache.store.Layer(ctx, "operon build: CAs, users, /tmp", baseFiles(roots))
}

// root returns the image itself, or an index of several images.
func (b *builder) root(parts []Part) (v1.Descriptor, error) {
	if len(parts) == 1 {
		return parts[0].Image, nil
	}
	var images []v1.Descriptor
	for _, part := range parts {
		images = append(images, part.Image)
	}
	return b.cache.store.Index(b.labelsOf(b.project, b.revision), images...)
}

// built is a program for a platform.
type built struct {
	program
	platform platform
	reused   bool
}

// programs builds the programs for all platforms before any image is created, because the inputs of all programs determine
// the revision.
func (b *builder) programs(ctx context.Context, platforms []platform) ([]built, error) {
	var all []built
	for _, target := range platforms {
		one, reused, err := b.program(ctx, target)
		if err != nil {
			return nil, err
		}
		if err := b.revision.judge(ctx, one.Inputs); err != nil {
			return nil, err
		}
		all = append(all, built{one, target, reused})
	}
	return all, nil
}

// part creates the image for one platform: the program and its licenses on other layers.
func (b *builder) part(from built, below []image.Layer) (Part, error) {
	labels := b.labelsOf(b.project, b.revision)
	layers := append(slices.Clone(below), from.Layer, from.Notices)
	made, err := b.cache.store.Image(image.Config{
		Platform:    from.platform.Platform,
		Created:     b.revision.Time,
		Run:         b.runConfig(labels),
		Annotations: labels,
	}, layers...)
	if err != nil {
		return Part{}, err
	}
	modules, err := b.attach(made, from.program)
	if err != nil {
		return Part{}, err
	}
	part := Part{Platform: from.platform.String(), Image: made, SBOM: modules, Reused: from.reused}
	for _, layer := range layers {
		part.Layers = append(part.Layers, layer.Descriptor)
	}
	return part, nil
}

// runConfig returns the configuration for running the program. An operator without Go code runs in the directory of its files, and gets its
// name from the environment.
func (b *builder) runConfig(labels map[string]string) v1.Config {
	config := v1.Config{
		User:       strconv.Itoa(User) + ":" + strconv.Itoa(User),
		Entrypoint: []string{"/" + Program},
		WorkingDir: "/",
		Labels:     labels,
	}
	if b.stock != nil {
		config.WorkingDir, config.Env = "/"+b.stock.home, []string{"OPERATOR_NAME=" + b.project.Name}
		if len(b.stock.packages) > 0 { // programs of packages write to their home directory
			config.Env = append(config.Env, "HOME=/tmp", "PATH=/usr/bin:/bin:/usr/sbin:/sbin")
		}
	}
	return config
}

// attach attaches the SBOM.
func (b *builder) attach(made v1.Descriptor, built program) (v1.Descriptor, error) {
	info, err := debug.ParseBuildInfo(built.Info)
	if err != nil {
		return v1.Descriptor{}, err
	}
	document, err := sbom.Write(sbom.Subject{
		Name: b.project.Name, Version: b.Version, Digest: built.Digest, Created: b.revision.Time, By: "operon-" + b.By, Info: info, Licenses: built.Licenses, Packages: b.packages,
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	return b.cache.store.Attach(made, sbom.MediaType, document, map[string]string{"org.opencontainers.image.created": b.revision.Time.Format(time.RFC3339)})
}

// program builds the program, or returns the last one if it is up to date.
func (b *builder) program(ctx context.Context, target platform) (program, bool, error) {
	known := b.cache.load(target)
	if b.released != nil {
		return b.release(ctx, target, known)
	}
	key := b.key(target)
	if !b.Again && known.Key == key && b.cache.store.Has(known.Layer.Descriptor) && b.cache.store.Has(known.Notices.Descriptor) {
		now, err := b.look(known.Sources)
		if err == nil && maps.Equal(known.Inputs, now) {
			return known, true, nil
		}
	}
	b.tell("compiling %s for %s", b.project.Name, target)
	fresh := program{Key: key}
	var err error
	if fresh.Sources, err = b.tools.list(ctx, target, b.main(), b.settings["GOMODCACHE"]); err != nil {
		return program{}, false, err
	}
	if fresh.Inputs, err = b.look(fresh.Sources); err != nil {
		return program{}, false, err
	}
	if err := errors.Join(b.compile(ctx, target, known, &fresh), b.license(ctx, &fresh)); err != nil {
		return program{}, false, err
	}
	after, err := b.look(fresh.Sources)
	if err != nil || !maps.Equal(fresh.Inputs, after) {
		b.revision.taint() // the sources were changed after git was asked
		return fresh, false, errors.Join(err, b.cache.forget(target))
	}
	return fresh, false, b.cache.save(target, fresh)
}

// license adds the layer with the licenses and notices of everything that the program links. Most licenses require this for
// binaries.
func (b *builder) license(ctx context.Context, fresh *program) error {
	found, err := licenses.Collect(fresh.Sources.linked)
	if err != nil {
		return err
	}
	fresh.Licenses = licenses.Declared(fresh.Sources.linked, found)
	fresh.Notices, err = b.notices(ctx, found)
	return err
}

func (b *builder) notices(ctx context.Context, found []licenses.File) (image.Layer, error) {
	var files []image.File
	for _, file := range found {
		files = append(files, image.Content(path.Join("usr/share/doc", b.project.Name, file.Path), 0o644, file.Content))
	}
	return b.cache.store.Layer(ctx, "operon build: licenses", files)
}

// look returns the hashes of everything that a program is built from.
func (b *builder) look(from sources) (map[string]string, error) {
	files, err := from.files(b.settings["GOWORK"])
	if err != nil {
		return nil, err
	}
	return sums(files)
}

func (b *builder) main() string { return b.project.Main.Package }

// key returns a hash of all inputs of the compilation that are not files, including the release of Operon, which defines how programs and their
// layers are made.
func (b *builder) key(target platform) string {
	parts := append([]string{b.By, b.project.Dir, b.main()}, target.env...)
	for _, name := range slices.Sorted(maps.Keys(b.settings)) {
		parts = append(parts, name+"="+b.settings[name])
	}
	return sum([]byte(strings.Join(parts, "\x00")))
}

// compile builds the program, and its layer unless the program is identical to the known one.
func (b *builder) compile(ctx context.Context, target platform, known program, fresh *program) error {
	dir, err := b.cache.scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var timezones []string
	if !b.project.Main.Stock() { // which imports them itself
		if timezones, err = b.tools.timezones(fresh.Sources.main, b.settings["GOMODCACHE"], dir); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, Program)
	if err := b.tools.compile(ctx, target, b.main(), file, timezones); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("read what went into the program: %w", err)
	}
	fresh.Digest, fresh.Info = sum(content), info.String()
	if fresh.Digest == known.Digest && b.cache.store.Has(known.Layer.Descriptor) {
		fresh.Layer = known.Layer
		return nil
	}
	b.tell("packing %s for %s", b.project.Name, target)
	fresh.Layer, err = b.cache.store.Layer(ctx, "operon build: /"+Program, []image.File{image.Content(Program, 0o755, content)})
	return err
}
