package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/property"
)

// catalog is a catalog with the packages that were read.
type catalog struct {
	Catalog
	offers map[string]*offer
	found  map[Query][]string
}

// offer is a package of a catalog.
type offer struct {
	*Package
	from    *catalog
	graphs  map[string]graphResult
	bundles map[string]Bundle
	read    map[string]*bundleResult
}

type graphResult struct {
	*graph
	err error
}

// bundleResult is the content of a bundle, and why it cannot be used, or "".
type bundleResult struct {
	*property.Content
	problem string
}

// offer returns a package, or nil if the catalog does not have it.
func (c *catalog) offer(name string) (*offer, error) {
	if known, ok := c.offers[name]; ok {
		return known, nil
	}
	loaded, err := c.Source.Package(name)
	if err != nil {
		return nil, fmt.Errorf("catalog %s cannot read package %s: %w", c.NamespacedName, name, err)
	}
	var made *offer
	if loaded != nil {
		made = &offer{Package: loaded, from: c, graphs: map[string]graphResult{}, bundles: map[string]Bundle{}, read: map[string]*bundleResult{}}
		for _, one := range loaded.Bundles {
			if _, twice := made.bundles[one.Name]; twice {
				made.read[one.Name] = &bundleResult{&property.Content{Package: name, Name: one.Name}, fmt.Sprintf("catalog %s has two bundles %s", c.NamespacedName, one.Name)}
			}
			made.bundles[one.Name] = one
		}
	}
	c.offers[name] = made
	return made, nil
}

// find returns the names of packages for a lookup.
func (c *catalog) find(l property.Lookup) ([]string, error) {
	if l.Package != "" {
		return []string{l.Package}, nil
	}
	if known, ok := c.found[l.Query]; ok {
		return known, nil
	}
	names, err := c.Source.Find(l.Query)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", c.NamespacedName, err)
	}
	c.found[l.Query] = names
	return names, nil
}

// channels returns the names of the channels: the default channel, and the others by name.
func (o *offer) channels() []string {
	var names []string
	for _, one := range o.Channels {
		names = append(names, one.Name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(-compareBools(a == o.DefaultChannel, b == o.DefaultChannel), cmp.Compare(a, b))
	})
	return slices.Compact(names)
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// graph returns the graph of a channel, or an error if the package does not have the channel or its graph is broken.
func (o *offer) graph(channel string) (*graph, error) {
	if known, ok := o.graphs[channel]; ok {
		return known.graph, known.err
	}
	result := graphResult{err: fmt.Errorf("package %s has no channel %s", o.Name, channel)}
	found := 0
	for i := range o.Channels {
		if o.Channels[i].Name == channel {
			result.graph, result.err = o.Channels[i].graph()
			found++
		}
	}
	if found > 1 {
		result = graphResult{err: fmt.Errorf("channel %s is listed twice", channel)}
	}
	o.graphs[channel] = result
	return result.graph, result.err
}

// bundle returns the content of a bundle.
func (o *offer) bundle(name string, rules *property.Rules) *bundleResult {
	if known, ok := o.read[name]; ok {
		return known
	}
	result := &bundleResult{Content: &property.Content{Package: o.Name, Name: name}}
	o.read[name] = result
	b, exists := o.bundles[name]
	if !exists {
		result.problem = fmt.Sprintf("catalog %s has no bundle %s", o.from.NamespacedName, name)
		return result
	}
	var err error
	result.Content, err = property.Read(o.Name, b, rules)
	switch {
	case err != nil:
		result.problem = fmt.Sprintf("bundle %s is invalid: %s", name, err)
	case result.Deprecated:
		result.problem = fmt.Sprintf("bundle %s has the property %s", name, property.DeprecatedProperty)
	}
	return result
}

// warnings returns the deprecations of a bundle in a channel.
func (o *offer) warnings(channel, bundle string) []Warning {
	var found []Warning
	for _, one := range o.Deprecations {
		what := ""
		switch {
		case one.Schema == SchemaPackage:
			what = "package " + o.Name
		case one.Schema == SchemaChannel && one.Name == channel:
			what = fmt.Sprintf("channel %s of package %s", channel, o.Name)
		case one.Schema == SchemaBundle && one.Name == bundle:
			what = "bundle " + bundle
		default:
			continue
		}
		found = append(found, Warning{one.Schema, one.Message, fmt.Sprintf("%s is deprecated: %s", what, one.Message)})
	}
	slices.SortFunc(found, func(a, b Warning) int { return cmp.Compare(a.Sentence, b.Sentence) })
	return found
}

// preferred returns the catalogs in the order in which dependencies of a bundle are looked for: the catalog of the bundle, catalogs of the
// namespace, higher priorities, names.
func (s *state) preferred(own types.NamespacedName) []*catalog {
	ordered := slices.Clone(s.catalogs)
	slices.SortFunc(ordered, func(a, b *catalog) int {
		return cmp.Or(
			-compareBools(a.NamespacedName == own, b.NamespacedName == own),
			-compareBools(a.Namespace == s.namespace, b.Namespace == s.namespace),
			-cmp.Compare(a.Priority, b.Priority),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace),
		)
	})
	return ordered
}

func (s *state) catalog(name types.NamespacedName) *catalog {
	for _, one := range s.catalogs {
		if one.NamespacedName == name {
			return one
		}
	}
	return nil
}
