package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/ship/image/debian"
	"github.com/operon-framework/operon/internal/ship/sbom"
)

// installed is the layer with Debian packages of the last build.
type installed struct {
	// Key identifies the packages and their versions.
	Key   string
	Layer image.Layer
	// Collections are the directories of Ansible collections, for checks of what operators need.
	Collections []string
}

// packagesFile is the name of the file in the cache that describes the layer.
const packagesFile = "packages.json"

// debian returns the layer with the Debian packages of an operator without Go code. It is reused unless the package source has other
// versions.
func (b *builder) debian(ctx context.Context, platforms []platform) ([]image.Layer, error) {
	if len(b.stock.packages) == 0 {
		return nil, nil
	}
	folder, err := b.cache.scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	found, err := debian.Find(ctx, folder, debian.Options{Packages: b.stock.packages, Without: unwanted, Tell: b.Tell})
	if err != nil {
		return nil, fmt.Errorf("the operator needs Debian packages: %w", err)
	}
	for _, target := range platforms {
		if want, err := image.ParsePlatform(found.Platform()); err != nil || target.Architecture != want.Architecture {
			return nil, errors.Join(err, fmt.Errorf("the platform %s: the operator needs Debian packages, which this machine has for %s only", target, found.Platform()))
		}
	}
	for _, one := range found.Packages() {
		b.packages = append(b.packages, sbom.Package{Type: "deb/" + one.Distribution, Name: one.Name, Version: one.Version, Architecture: one.Architecture})
	}
	known, err := b.install(ctx, found)
	if err != nil {
		return nil, err
	}
	return []image.Layer{known.Layer}, b.lacks(known)
}

// unwanted are packages that others depend on for what operators do not do.
var unwanted = []string{"openssh-client", "perl", "perl-base"}

// install returns the layer of packages, from the cache if it has it.
func (b *builder) install(ctx context.Context, found *debian.Selection) (installed, error) {
	file := filepath.Join(b.cache.folder, packagesFile)
	var known installed
	if content, err := os.ReadFile(file); err == nil && json.Unmarshal(content, &known) == nil && known.Key == found.Key() && b.cache.store.Has(known.Layer.Descriptor) {
		return known, nil
	}
	root, err := found.Unpack(ctx)
	if err != nil {
		return installed{}, err
	}
	b.tell("packing %d Debian packages", len(root.Archives))
	known = installed{Key: found.Key()}
	for _, one := range root.Files {
		if inCollections(one.Path) {
			known.Collections = append(known.Collections, one.Path)
		}
	}
	if known.Layer, err = b.cache.store.Layer(ctx, "operon build: Debian packages", root.Files); err != nil {
		return installed{}, err
	}
	content, err := json.Marshal(known)
	if err != nil {
		return installed{}, err
	}
	return known, image.WriteFile(file, 0o600, content)
}

// inCollections reports whether a path is the directory of an Ansible collection, ansible_collections/NAMESPACE/NAME.
func inCollections(path string) bool {
	return filepath.Base(filepath.Dir(filepath.Dir(path))) == "ansible_collections"
}

// lacks returns an error if the operator needs files that the image does not have.
func (b *builder) lacks(has installed) error {
	paths := map[string]bool{}
	for _, one := range has.Collections {
		paths[one] = true
	}
	var errs []error
	for _, needs := range b.stock.needs {
		errs = append(errs, needs(func(path string) bool { return paths[path] }))
	}
	return errors.Join(errs...)
}
