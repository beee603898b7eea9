package resolve

import (
	"slices"

	"github.com/operon-framework/operon/internal/olm/property"
)

// Packages is a Source with all packages in memory, for small catalogs. It has no index.
type Packages []Package

// Package returns a package by name.
func (p Packages) Package(name string) (*Package, error) {
	for i := range p {
		if p[i].Name == name {
			return &p[i], nil
		}
	}
	return nil, nil //nolint:nilnil // the contract of Source
}

// Find looks through the properties of all bundles.
func (p Packages) Find(q Query) ([]string, error) {
	var found []string
	for _, one := range p {
		if q == (Query{}) || slices.ContainsFunc(one.Bundles, func(b Bundle) bool { return selects(q, b) }) {
			found = append(found, one.Name)
		}
	}
	return found, nil
}

func selects(q Query, b Bundle) bool {
	if q.Property == "" {
		return property.Provides(b, q.Provides)
	}
	return slices.ContainsFunc(b.Properties, func(p Property) bool { return p.Type == q.Property })
}
