package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Schemas of the objects in a catalog.
const (
	packageSchema     = "olm.package"
	channelSchema     = "olm.channel"
	bundleSchema      = "olm.bundle"
	deprecationSchema = "olm.deprecations"
)

// Types of properties of bundles.
const (
	packageProperty         = "olm.package"
	kindProperty            = "olm.gvk"
	requiredKindProperty    = "olm.gvk.required"
	requiredPackageProperty = "olm.package.required"
	labelProperty           = "olm.label"
	requiredLabelProperty   = "olm.label.required"
	constraintProperty      = "olm.constraint"
	objectProperty          = "olm.bundle.object"
	csvProperty             = "olm.csv.metadata"
)

// Catalog is the content of a file-based catalog.
type Catalog struct {
	// Packages are sorted by name.
	Packages []*Package
	// Others are the objects with other schemas, in the order of the files.
	Others []Object
	// Problems are errors that belong to no package.
	Problems []Problem
}

// Package is an operator in a catalog.
type Package struct {
	Name           string     `json:"name"`
	DefaultChannel string     `json:"defaultChannel"`
	Description    string     `json:"description,omitempty"`
	Icon           *Icon      `json:"icon,omitempty"`
	Properties     []Property `json:"properties,omitempty"`

	// Channels and Bundles are in the order of the files.
	Channels     []*Channel    `json:"-"`
	Bundles      []*Bundle     `json:"-"`
	Deprecations []Deprecation `json:"-"`
	// Problems are the reasons why the package cannot be offered.
	Problems []Problem `json:"-"`

	defined bool // there is an object of its own
	at      rule.Place
}

// Icon is an image of an operator.
type Icon struct {
	Data      []byte `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// Channel is a stream of versions.
type Channel struct {
	Package    string     `json:"package"`
	Name       string     `json:"name"`
	Entries    []Entry    `json:"entries"`
	Properties []Property `json:"properties,omitempty"`

	at rule.Place
}

// Entry is a bundle in a channel, and the bundles that it can replace.
type Entry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// Bundle is one version of an operator.
type Bundle struct {
	Package       string     `json:"package"`
	Name          string     `json:"name"`
	Image         string     `json:"image"`
	Properties    []Property `json:"properties,omitempty"`
	RelatedImages []Image    `json:"relatedImages,omitempty"`

	at rule.Place
}

// Image is an image that an operator uses.
type Image struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// Property is a fact about a bundle.
type Property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// Deprecation is a warning for users of a package, a channel or a bundle.
type Deprecation struct {
	Reference Reference `json:"reference"`
	Message   string    `json:"message"`

	at rule.Place
}

// Reference names what is deprecated.
type Reference struct {
	Schema string `json:"schema"`
	Name   string `json:"name,omitempty"`
}

// Object is an object with a schema that is not known here.
type Object struct {
	Package string
	Raw     json.RawMessage
}

// Problem is an error at a place in a file.
type Problem struct {
	At      rule.Place `json:"at"`
	Package string     `json:"package,omitempty"`
	Message string     `json:"message"`
}

func (p Problem) Error() string {
	if p.Package == "" {
		return fmt.Sprintf("%s: %s", p.At, p.Message)
	}
	return fmt.Sprintf("%s: package %s: %s", p.At, p.Package, p.Message)
}

// Package returns the package with a name, or nil.
func (c *Catalog) Package(name string) *Package {
	i, found := slices.BinarySearchFunc(c.Packages, name, func(p *Package, name string) int { return strings.Compare(p.Name, name) })
	if !found {
		return nil
	}
	return c.Packages[i]
}

// AllProblems returns the problems of the catalog and of its packages.
func (c *Catalog) AllProblems() []Problem {
	all := slices.Clone(c.Problems)
	for _, p := range c.Packages {
		all = append(all, p.Problems...)
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return a.At.Compare(b.At) })
	return all
}

// Channel returns the channel with a name, or nil.
func (p *Package) Channel(name string) *Channel {
	for _, one := range p.Channels {
		if one.Name == name {
			return one
		}
	}
	return nil
}

// Bundle returns the bundle with a name, or nil.
func (p *Package) Bundle(name string) *Bundle {
	for _, one := range p.Bundles {
		if one.Name == name {
			return one
		}
	}
	return nil
}

func (p *Package) problem(at rule.Place, format string, values ...any) {
	p.Problems = append(p.Problems, Problem{at, p.Name, fmt.Sprintf(format, values...)})
}

// Version returns the version of a bundle, or "" if it has none.
func (b *Bundle) Version() string {
	var value struct {
		Version string `json:"version"`
	}
	for _, one := range b.Properties {
		if one.Type == packageProperty && json.Unmarshal(one.Value, &value) == nil {
			return value.Version
		}
	}
	return ""
}

// release returns the version of a bundle, followed by its release if it has one: there can be several releases of a version.
func (b *Bundle) release() string {
	version := b.Version()
	for _, one := range b.Properties {
		var value struct {
			Release json.RawMessage `json:"release"`
		}
		if one.Type != packageProperty || json.Unmarshal(one.Value, &value) != nil {
			continue
		}
		if text := strings.Trim(string(value.Release), `"`); text != "" && text != "null" {
			return version + ", release " + text
		}
	}
	return version
}
