package catalogs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/olm/resolve"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/store"

	"github.com/operon-framework/operon/olm/internal/packages"
)

// source finds the packages of a catalog for a resolution. It implements resolve.Source.
type source struct {
	packages map[string]*resolve.Package
	// broken says what is wrong with the packages that cannot be used.
	broken   map[string]string
	names    []string
	provides map[schema.GroupVersionKind][]string
	// having are the packages with a property of a type.
	having  map[string][]string
	bundles map[string]place
	// manifests describe the packages to people, by name.
	manifests map[string]*packages.Manifest
}

// place is where a bundle is: its package and its image.
type place struct{ of, image string }

// Types of properties: a kind that a bundle provides, and two that repeat the content of a bundle: an object, in catalogs that contain the
// objects, and what is shown of the ClusterServiceVersion.
const (
	kindProperty     = "olm.gvk"
	objectProperty   = "olm.bundle.object"
	metadataProperty = "olm.csv.metadata"
)

// newSource reads the packages of a catalog one by one: the whole catalog would need a hundred times as much memory as what it keeps.
func newSource(of *store.Store, broken map[string]string) (*source, error) {
	s := &source{
		packages: map[string]*resolve.Package{}, broken: broken, provides: map[schema.GroupVersionKind][]string{}, having: map[string][]string{},
		bundles: map[string]place{}, manifests: map[string]*packages.Manifest{},
	}
	for _, name := range of.PackageNames() {
		whole, err := of.Content(name)
		if err != nil {
			return nil, err
		}
		manifest, err := packages.Compose(whole)
		if err != nil {
			broken[name] = err.Error()
			continue
		}
		s.manifests[name], s.packages[name] = manifest, converted(whole)
		for _, one := range whole.Bundles {
			s.index(name, one)
		}
	}
	s.names = slices.Sorted(maps.Keys(s.packages))
	return s, nil
}

func (s *source) index(of string, one *catalog.Bundle) {
	if _, known := s.bundles[one.Name]; !known {
		s.bundles[one.Name] = place{of, one.Image}
	}
	for _, property := range one.Properties {
		add(s.having, property.Type, of)
		var kind struct{ Group, Version, Kind string }
		if property.Type == kindProperty && json.Unmarshal(property.Value, &kind) == nil {
			add(s.provides, schema.GroupVersionKind(kind), of)
		}
	}
}

func add[K comparable](to map[K][]string, key K, name string) {
	if all := to[key]; len(all) == 0 || all[len(all)-1] != name { // the packages come one after the other
		to[key] = append(all, name)
	}
}

// properties returns the properties of a bundle without those that repeat its content.
func (s *source) properties(of, name string) []resolve.Property {
	for _, one := range s.packages[of].Bundles {
		if one.Name == name && one.Properties != nil {
			return one.Properties
		}
	}
	return []resolve.Property{}
}

// Find implements resolve.Source.
func (s *source) Find(query resolve.Query) ([]string, error) {
	switch {
	case query.Property != "":
		return s.having[query.Property], nil
	case query.Provides != schema.GroupVersionKind{}:
		return s.provides[query.Provides], nil
	}
	return slices.Clone(s.names), nil
}

// Package implements resolve.Source. A package with problems cannot be used.
func (s *source) Package(name string) (*resolve.Package, error) {
	if problem, ok := s.broken[name]; ok {
		return nil, fmt.Errorf("the package %s cannot be used: %s", name, problem)
	}
	return s.packages[name], nil
}

func converted(p *catalog.Package) *resolve.Package {
	made := &resolve.Package{Name: p.Name, DefaultChannel: p.DefaultChannel}
	for _, channel := range p.Channels {
		one := resolve.Channel{Name: channel.Name}
		for _, entry := range channel.Entries {
			one.Entries = append(one.Entries, resolve.Entry(entry))
		}
		made.Channels = append(made.Channels, one)
	}
	for _, from := range p.Bundles {
		one := resolve.Bundle{Name: from.Name}
		for _, property := range from.Properties {
			if property.Type != objectProperty && property.Type != metadataProperty {
				one.Properties = append(one.Properties, resolve.Property(property))
			}
		}
		made.Bundles = append(made.Bundles, one)
	}
	for _, deprecation := range p.Deprecations {
		made.Deprecations = append(made.Deprecations, resolve.Deprecation{
			Schema: deprecation.Reference.Schema, Name: deprecation.Reference.Name, Message: deprecation.Message,
		})
	}
	return made
}
