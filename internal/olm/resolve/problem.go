package resolve

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/property"
)

// Problem is the state of a namespace and what its Subscriptions ask for. The order of the lists has no meaning.
type Problem struct {
	// Namespace is the namespace of the Subscriptions. Catalogs of this namespace are preferred for dependencies.
	Namespace     string
	Subscriptions []Subscription
	Installed     []Installed
	// Catalogs are the catalogs that the namespace may use.
	Catalogs []Catalog
	// Limit is the time for a question to the solver, of which a resolution asks some hundreds. The default is 5s; usual questions take less
	// than a millisecond.
	Limit time.Duration
}

// Subscription asks for a package.
type Subscription struct {
	Name    string
	Package string
	// Channel is empty for all channels, with the default channel first.
	Channel string
	Catalog types.NamespacedName
	// StartingCSV is the only bundle that a first installation may choose, or empty.
	StartingCSV string
	// InstalledCSV is the bundle that the Subscription installed last, or empty.
	InstalledCSV string
	// Avoid are bundles that the Subscription must not install, with the reason in a sentence.
	Avoid map[string]string
}

// Installed is a bundle that exists in the namespace.
type Installed struct {
	Bundle
	Package string
	// Subscription is the name of the Subscription that installed the bundle or is installing it. It is empty for bundles that were installed
	// in another way.
	Subscription string
}

// Catalog is a source of bundles.
type Catalog struct {
	types.NamespacedName
	// Priority is higher for catalogs that are preferred for dependencies. The default is 0.
	Priority int
	// Unavailable is the reason why the catalog cannot be read, or empty. Source is then not used.
	Unavailable string
	Source      Source
}

// Source finds the content of a catalog. Resolve reads only the packages that it needs, each of them once.
type Source interface {
	// Package returns a package with all its channels and bundles, or nil if the catalog does not have it. The caller does not change it.
	// An error concerns only this package.
	Package(name string) (*Package, error)
	// Find returns the names of the packages that have a bundle for a query. It may return further packages, which only costs time.
	Find(Query) ([]string, error)
}

// Package is an operator in a catalog.
type Package struct {
	Name           string
	DefaultChannel string
	Channels       []Channel
	Bundles        []Bundle
	// Deprecations are warnings. They do not change what is chosen.
	Deprecations []Deprecation
}

// Channel is a stream of versions of a package.
type Channel struct {
	Name    string
	Entries []Entry
}

// Entry is a bundle in a channel, with the bundles that it can replace.
type Entry struct {
	Name      string
	Replaces  string
	Skips     []string
	SkipRange string
}

// Deprecation is a message about a package, a channel or a bundle.
type Deprecation struct {
	// Schema is olm.package, olm.channel or olm.bundle, and Name the name of the channel or bundle.
	Schema, Name string
	Message      string
}

// Bundle is a version of an operator, Property a fact about it, and Query selects packages by their properties.
type (
	Bundle   = property.Bundle
	Property = property.Property
	Query    = property.Query
)
