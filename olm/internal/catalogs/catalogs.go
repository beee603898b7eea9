// Package catalogs has the catalogs of CatalogSources that were read, and the bundles in them. Images are fetched into a directory of this
// machine, once for each digest.
package catalogs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/resolve"
	"github.com/operon-framework/operon/internal/ship/catalog/store"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/olm/internal/configmap"
	"github.com/operon-framework/operon/olm/internal/packages"
	"github.com/operon-framework/operon/olm/internal/served"
)

// labelConfigs is the label of an image with the directory of its file-based catalog.
const labelConfigs = "operators.operatorframework.io.index.configs.v1"

const defaultConfigs = "configs"

// Catalogs has the catalogs that were read.
type Catalogs struct {
	Images *pulled.Store

	reader  client.Reader // without a cache
	objects client.Reader // with a cache. Nil: there is no cluster

	mu      sync.Mutex
	all     map[types.NamespacedName]*Loaded
	changes []func()
}

// Loaded is a catalog that was read. What a resolution needs is in memory, and everything else in a cache on disk.
type Loaded struct {
	// Digest is the digest of the image, or of what the server or the ConfigMap has.
	Digest string
	// Source finds packages for a resolution.
	Source resolve.Source
	// Broken says what is wrong with the packages that cannot be used, by their names.
	Broken map[string]string

	source *source
	origin origin
}

// Place is where a catalog is: in an image, on a server of the registry's gRPC service, or in a ConfigMap.
type Place struct {
	Image string
	// Address is the host and the port of the server. It is ignored if there is an image.
	Address string
	// ConfigMap is the name of the ConfigMap in the namespace of the CatalogSource. It is ignored if there is an image or an address. Version is
	// its resource version, or empty if it does not exist.
	ConfigMap, Version string
	// Secrets are those in the namespace of the CatalogSource with the credentials for the registries of the catalog and of its bundles.
	Secrets []string
}

// PlaceOf returns where the catalog of a CatalogSource is, without a version.
func PlaceOf(source *v1alpha1.CatalogSource) Place {
	spec := source.Spec
	if spec.SourceType == v1alpha1.SourceConfigMap || spec.SourceType == v1alpha1.SourceInternal {
		return Place{ConfigMap: spec.ConfigMap, Secrets: spec.Secrets}
	}
	return Place{Image: spec.Image, Address: spec.Address, Secrets: spec.Secrets}
}

// origin is where a catalog comes from, and the object that says so.
type origin struct {
	of  types.NamespacedName
	uid types.UID
	Place
}

// Packages returns the number of packages, including those that cannot be used.
func (l *Loaded) Packages() int { return len(l.source.packages) + len(l.Broken) }

// Manifest returns the description of a package, or nil if the catalog does not have it.
func (l *Loaded) Manifest(name string) *packages.Manifest { return l.source.manifests[name] }

// Manifests returns the descriptions of all packages that can be used, by name.
func (l *Loaded) Manifests() []*packages.Manifest {
	all := make([]*packages.Manifest, 0, len(l.source.names))
	for _, name := range l.source.names {
		all = append(all, l.source.manifests[name])
	}
	return all
}

// Problems returns what is wrong with the packages that cannot be used, for a status: in order, and only some if there are many.
func (l *Loaded) Problems() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(l.Broken)) {
		if len(all) < maxProblems {
			all = append(all, fmt.Sprintf("%s: %s", name, l.Broken[name]))
		}
	}
	return all
}

// maxProblems is how many packages with mistakes are listed.
const maxProblems = 20

// Place returns where the catalog was read.
func (l *Loaded) Place() Place { return l.origin.Place }

// IsOf reports whether the catalog was read where a CatalogSource says now, although it may have changed there since.
func (l *Loaded) IsOf(source *v1alpha1.CatalogSource) bool {
	was := l.origin.Place
	was.Version = ""
	return reflect.DeepEqual(was, PlaceOf(source))
}

// Reference returns the reference of the image that the catalog was read from, as it was requested.
func (l *Loaded) Reference() string { return l.origin.Image }

// Image returns the image of a bundle, or an empty string if the catalog contains the objects, or does not have the bundle.
func (l *Loaded) Image(name string) string { return l.source.bundles[name].image }

// PackageOf returns the package of a bundle, or an empty string if the catalog does not have the bundle.
func (l *Loaded) PackageOf(name string) string { return l.source.bundles[name].of }

// Load reads the catalog of an object, unless it has it already. An earlier one stays if that fails.
func (c *Catalogs) Load(ctx context.Context, object client.Object, place Place) (*Loaded, error) {
	of := client.ObjectKeyFromObject(object)
	from := origin{of, object.GetUID(), place}
	fetched, err := c.fetch(ctx, from)
	if err != nil {
		return nil, err
	}
	if known := c.Get(of); known != nil && known.Digest == fetched.Digest && reflect.DeepEqual(known.origin, from) {
		return known, nil
	}
	read, err := c.read(ctx, fetched)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	read.origin = from
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[types.NamespacedName]*Loaded{}
	}
	c.all[of] = read
	c.change()
	return read, nil
}

func (p Place) String() string {
	switch {
	case p.Image != "":
		return "image " + p.Image
	case p.Address != "":
		return "server " + p.Address
	}
	return "ConfigMap " + p.ConfigMap
}

// keptServed is the kind of directories with the catalogs of servers and ConfigMaps.
const keptServed = "served"

// fetch returns the image of a catalog with the directory that its label names, or another catalog as if it was an image.
func (c *Catalogs) fetch(ctx context.Context, from origin) (*pulled.Image, error) {
	switch {
	case from.Image != "":
	case from.ConfigMap != "":
		return c.fetchConfigMap(ctx, from)
	default:
		return c.Images.Write(keptServed, func(dir string) (string, error) { return served.Read(ctx, from.Address, dir, limits) })
	}
	store, err := c.images(ctx, from)
	if err != nil {
		return nil, err
	}
	fetched, err := store.Fetch(ctx, from.Image, defaultConfigs)
	if err != nil {
		return nil, err
	}
	if label := strings.Trim(fetched.Labels[labelConfigs], "/"); label != "" && label != defaultConfigs {
		return store.Fetch(ctx, from.Image, label)
	}
	return fetched, nil
}

// fetchConfigMap reads a ConfigMap. It is not cached: its version is watched.
func (c *Catalogs) fetchConfigMap(ctx context.Context, from origin) (*pulled.Image, error) {
	var found corev1.ConfigMap
	err := c.reader.Get(ctx, client.ObjectKey{Namespace: from.of.Namespace, Name: from.ConfigMap}, &found)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("spec.configMap: the ConfigMap %s does not exist in the namespace %s", from.ConfigMap, from.of.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("spec.configMap: %w", err)
	}
	made, err := c.Images.Write(keptServed, func(dir string) (string, error) { return configmap.Write(&found, dir) })
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %w", from.ConfigMap, err)
	}
	return made, nil
}

// limits of the catalogs of servers are those of images.
var limits = served.Limits{Message: pulled.DefaultLimits.File, Total: pulled.DefaultLimits.Total, Count: pulled.DefaultLimits.Count, Dial: pulled.Dial}

// read reads the catalog in an image. CatalogSources with the same image share it.
func (c *Catalogs) read(ctx context.Context, fetched *pulled.Image) (*Loaded, error) {
	if known := c.withDigest(fetched.Digest); known != nil {
		shared := *known
		return &shared, nil
	}
	opened, err := store.Open(ctx, store.Options{Sources: []string{fetched.Dir}, Dir: fetched.Cache})
	if err != nil {
		return nil, err
	}
	read := &Loaded{Digest: fetched.Digest, Broken: map[string]string{}}
	for _, problem := range opened.Problems() {
		if _, known := read.Broken[problem.Package]; problem.Package != "" && !known {
			read.Broken[problem.Package] = problem.Message
		}
	}
	read.source, err = newSource(opened, read.Broken)
	read.Source = read.source
	return read, errors.Join(err, opened.Close())
}

func (c *Catalogs) withDigest(digest string) *Loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		if one.Digest == digest {
			return one
		}
	}
	return nil
}

// Get returns the catalog of a CatalogSource, or nil if it was not read yet. It may be that of a deleted object with the same name: see Of.
func (c *Catalogs) Get(source types.NamespacedName) *Loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[source]
}

// Of is like Get for an object that was read, without the catalog of an object that had the name before.
func (c *Catalogs) Of(object client.Object) *Loaded {
	if loaded := c.Get(client.ObjectKeyFromObject(object)); loaded != nil && loaded.origin.uid == object.GetUID() {
		return loaded
	}
	return nil
}

// Forget removes the catalog of a CatalogSource that is not used any more.
func (c *Catalogs) Forget(source types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, source)
	c.change()
}

// OnChange calls a function after a catalog was read or forgotten. The function must not wait, and not call Catalogs.
func (c *Catalogs) OnChange(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, do)
}

// change calls the functions of OnChange. The lock is held.
func (c *Catalogs) change() {
	for _, do := range c.changes {
		do()
	}
}
