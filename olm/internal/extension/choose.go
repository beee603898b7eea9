package extension

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	blang "github.com/blang/semver/v4"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/resolve"
)

// version is a version of a package.
type version struct {
	name   string
	number *semver.Version
}

// offer is a package in a catalog.
type offer struct {
	catalog  string
	priority int32
	of       *resolve.Package
}

// choice is a version of a catalog.
type choice struct {
	version
	offer
	properties []resolve.Property
}

// choose returns the best version for a ClusterExtension: one that is not deprecated if there is one, of the catalog with the highest priority,
// the highest one. installed is the version that it follows, or nil.
func choose(filter *v1.CatalogFilter, installed *version, offers []offer) (choice, error) {
	within, err := rangeOf(filter)
	if err != nil {
		return choice{}, err
	}
	var best []choice
	for _, one := range offers {
		all, err := candidates(filter, within, installed, one)
		if err != nil {
			return choice{}, fmt.Errorf("catalog %s: %w", one.catalog, err)
		}
		if len(all) > 0 {
			best = append(best, slices.MaxFunc(all, preferred))
		}
	}
	if slices.ContainsFunc(best, func(c choice) bool { return !c.deprecated() }) {
		best = slices.DeleteFunc(best, choice.deprecated)
	}
	slices.SortStableFunc(best, func(a, b choice) int { return cmp.Compare(b.priority, a.priority) })
	switch {
	case len(best) == 0:
		return choice{}, errors.New(asked("no bundles found", filter, installed))
	case len(best) > 1 && best[0].priority == best[1].priority:
		return choice{}, fmt.Errorf("%s in multiple catalogs with the same priority %s: change spec.priority of one, or use spec.source.catalog.selector",
			asked("found bundles", filter, installed), catalogsOf(best))
	}
	return best[0], nil
}

// catalogsOf returns the names of the catalogs with the highest priority, in order.
func catalogsOf(best []choice) []string {
	var names []string
	for _, one := range best {
		if one.priority == best[0].priority {
			names = append(names, one.catalog)
		}
	}
	slices.Sort(names)
	return names
}

// asked returns what was asked for, in the words of the Operator Lifecycle Manager.
func asked(result string, filter *v1.CatalogFilter, installed *version) string {
	text := fmt.Sprintf("%s for package %q", result, filter.PackageName)
	if installed != nil {
		text = fmt.Sprintf("error upgrading from currently installed version %q: %s", installed.number, text)
	}
	if filter.Version != "" {
		text += fmt.Sprintf(" matching version %q", filter.Version)
	}
	if len(filter.Channels) > 0 {
		text += fmt.Sprintf(" in channels %v", filter.Channels)
	}
	return text
}

// rangeOf returns the range of versions, or nil for all.
func rangeOf(filter *v1.CatalogFilter) (*semver.Constraints, error) {
	if filter.Version == "" {
		return nil, nil
	}
	within, err := semver.NewConstraint(filter.Version)
	if err != nil {
		return nil, fmt.Errorf("spec.source.catalog.version: the range %q is invalid: %w", filter.Version, err)
	}
	return within, nil
}

// candidates returns the versions of a package that a ClusterExtension may get. The installed version is one of them.
func candidates(filter *v1.CatalogFilter, within *semver.Constraints, installed *version, from offer) ([]choice, error) {
	var allowed map[string]bool
	if installed != nil && filter.UpgradeConstraintPolicy != v1.SelfCertified {
		var err error
		if allowed, err = successors(from.of, filter.Channels, installed); err != nil {
			return nil, err
		}
	}
	listed := inChannels(from.of, filter.Channels)
	var all []choice
	for _, bundle := range from.of.Bundles {
		number, err := numberOf(bundle)
		if err != nil {
			return nil, err
		}
		if allowed != nil && !allowed[bundle.Name] || listed != nil && !listed[bundle.Name] || within != nil && !within.Check(number) {
			continue
		}
		all = append(all, choice{version{bundle.Name, number}, from, bundle.Properties})
	}
	return all, nil
}

// numberOf returns the version of a bundle, which is a property.
func numberOf(bundle resolve.Bundle) (*semver.Version, error) {
	for _, one := range bundle.Properties {
		var value struct{ Version string }
		if one.Type != "olm.package" || json.Unmarshal(one.Value, &value) != nil {
			continue
		}
		if number, err := semver.StrictNewVersion(value.Version); err == nil {
			return number, nil
		}
	}
	return nil, fmt.Errorf("the bundle %s has no valid version in its property olm.package", bundle.Name)
}

// inChannels returns the bundles in channels, by name, or nil for all.
func inChannels(of *resolve.Package, names []string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	listed := map[string]bool{}
	for _, channel := range of.Channels {
		for _, entry := range channel.Entries {
			if slices.Contains(names, channel.Name) {
				listed[entry.Name] = true
			}
		}
	}
	return listed
}

// successors returns the bundles that may follow the installed one in some channels, or in any if there are none, by name, and the installed one
// itself.
func successors(of *resolve.Package, channels []string, installed *version) (map[string]bool, error) {
	number, err := blang.Parse(installed.number.String())
	if err != nil {
		return nil, err
	}
	found := map[string]bool{installed.name: true}
	for _, channel := range of.Channels {
		if len(channels) > 0 && !slices.Contains(channels, channel.Name) {
			continue
		}
		for _, entry := range channel.Entries {
			follows := entry.Replaces == installed.name || slices.Contains(entry.Skips, installed.name)
			if !follows && entry.SkipRange != "" {
				skipped, err := blang.ParseRange(entry.SkipRange)
				if err != nil {
					return nil, fmt.Errorf("channel %s: %s: skipRange %q is not a range of versions", channel.Name, entry.Name, entry.SkipRange)
				}
				follows = skipped(number)
			}
			if follows {
				found[entry.Name] = true
			}
		}
	}
	return found, nil
}

// preferred compares two versions of a package: one that is not deprecated is better, then the higher one.
func preferred(a, b choice) int {
	switch {
	case a.deprecated() == b.deprecated():
		return a.compare(b.version)
	case a.deprecated():
		return -1
	}
	return 1
}

// compare compares two versions. Of equal ones, build metadata is the release, as in the Operator Lifecycle Manager: 1.0.0+2 is higher than 1.0.0+1.
func (v version) compare(other version) int {
	if order := v.number.Compare(other.number); order != 0 {
		return order
	}
	return v.release().Compare(other.release())
}

// release returns the build metadata as a prerelease, which is the form that can be compared.
func (v version) release() blang.Version {
	release, err := blang.Parse(strings.TrimSuffix("0.0.0-0."+v.number.Metadata(), "."))
	if err != nil {
		return blang.MustParse("0.0.0-0")
	}
	return release
}

const (
	schemaPackage = "olm.package"
	schemaChannel = "olm.channel"
	schemaBundle  = "olm.bundle"
)

func (c choice) deprecated() bool { return c.deprecations(schemaBundle, c.name) != "" }

// deprecations returns what a catalog says about the package, or about channels or bundles with some names, or an empty string.
func (o offer) deprecations(schema string, names ...string) string {
	var all []string
	for _, one := range o.of.Deprecations {
		if one.Schema == schema && (schema == schemaPackage || slices.Contains(names, one.Name)) {
			all = append(all, one.Message)
		}
	}
	return strings.Join(all, "; ")
}

// unsupported returns why a version cannot be installed by a ClusterExtension, or an empty string: dependencies are not installed with it.
func (c choice) unsupported() string {
	for _, one := range c.properties {
		switch one.Type {
		case "olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint":
			return fmt.Sprintf("bundle %s has an unsupported dependency, the property %s: install it by a Subscription", c.name, one.Type)
		}
	}
	return ""
}
