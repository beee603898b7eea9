package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/ship/bundle"
)

// claim is an API that a bundle provides.
type claim struct {
	name string
	// exclusive means that no other operator can provide it. The group and version of a CRD are not: they exclude only an API service.
	exclusive bool
}

// claimsOf returns the APIs that a bundle provides.
func claimsOf(b *bundle.Bundle) []claim {
	var all []claim
	for _, crd := range b.CRDs {
		all = append(all, claim{"CustomResourceDefinition " + crd.GetName(), true})
		if crd.Typed == nil {
			continue
		}
		for _, version := range crd.Typed.Spec.Versions {
			all = append(all, claim{"APIService " + version.Name + "." + crd.Typed.Spec.Group, false})
		}
	}
	for _, api := range b.CSV.Spec.APIServices.Owned {
		all = append(all, claim{"APIService " + api.Version + "." + api.Group, true})
	}
	return all
}

// claimant is a package that provides an API.
type claimant struct {
	entry     *entry
	exclusive bool
}

// findShared adds a warning to each package that cannot be installed together with another one.
func (c *checker) findShared() {
	byName := map[string]map[string]claimant{}
	for _, one := range c.entries {
		if one.bundle.Package == "" {
			continue
		}
		for _, api := range one.claims {
			if byName[api.name] == nil {
				byName[api.name] = map[string]claimant{}
			}
			before, known := byName[api.name][one.bundle.Package]
			if !known || one.bundle.Dir < before.entry.bundle.Dir {
				before.entry = one
			}
			before.exclusive = before.exclusive || api.exclusive
			byName[api.name][one.bundle.Package] = before
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		packages := byName[name]
		for _, of := range slices.Sorted(maps.Keys(packages)) {
			if others := rivals(packages, of); len(others) > 0 {
				c.addShared(of, packages[of].entry, fmt.Sprintf("package %s provides %s, and so does %s: they cannot be installed in one cluster", of, name, strings.Join(others, ", ")))
			}
		}
	}
}

// maxRivals is how many packages a message names.
const maxRivals = 5

// rivals returns the packages that provide the same API, and that exclude a package or are excluded by it.
func rivals(packages map[string]claimant, of string) []string {
	var others []string
	for _, other := range slices.Sorted(maps.Keys(packages)) {
		if other != of && (packages[of].exclusive || packages[other].exclusive) {
			others = append(others, "package "+other)
		}
	}
	if more := len(others) - maxRivals; more > 0 {
		others = append(others[:maxRivals], fmt.Sprintf("%d more", more))
	}
	return others
}

// addShared adds a warning to the results for a package.
func (c *checker) addShared(name string, one *entry, message string) {
	for i := range c.report.Packages {
		has := &c.report.Packages[i]
		if has.Name == name {
			all := findings(has.Findings)
			all.add(packageShared, one.at, "%s", message)
			has.Findings, _, has.Outcome = settle(all)
		}
	}
}
