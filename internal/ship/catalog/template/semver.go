package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/catalog"
)

// Kinds of channels: for a major version, or for a minor version.
const (
	majorKind = "major"
	minorKind = "minor"
)

// semverTemplate is a template of schema olm.semver.
type semverTemplate struct {
	Schema                       string    `json:"schema"`
	GenerateMajorChannels        bool      `json:"generateMajorChannels"`
	GenerateMinorChannels        bool      `json:"generateMinorChannels"`
	DefaultChannelTypePreference string    `json:"defaultChannelTypePreference"`
	Candidate                    bundleSet `json:"candidate"`
	Fast                         bundleSet `json:"fast"`
	Stable                       bundleSet `json:"stable"`
}

type bundleSet struct {
	Bundles []struct {
		Image string `json:"image"`
	} `json:"bundles"`
}

// kinds returns the kinds of channels, the preferred one last.
func (s *semverTemplate) kinds() ([]string, error) {
	var kinds []string
	if s.GenerateMajorChannels {
		kinds = append(kinds, majorKind)
	}
	if s.GenerateMinorChannels || len(kinds) == 0 {
		kinds = append(kinds, minorKind)
	}
	switch preferred := s.DefaultChannelTypePreference; {
	case preferred == "":
	case preferred != majorKind && preferred != minorKind:
		return nil, fmt.Errorf("defaultChannelTypePreference is %q: want %s or %s", preferred, majorKind, minorKind)
	case !slices.Contains(kinds, preferred):
		return nil, fmt.Errorf("defaultChannelTypePreference is %s, but channels of this type are not generated", preferred)
	case preferred == majorKind:
		slices.Reverse(kinds)
	}
	return kinds, nil
}

// versioned is a bundle with its version.
type versioned struct {
	*found
	version semver.Version
}

// semver expands a template of schema olm.semver.
func (t *template) semver(content []byte) (*catalog.Catalog, error) {
	var s semverTemplate
	if err := yaml.UnmarshalStrict(content, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	kinds, err := s.kinds()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	var made *catalog.Package
	var problems []error
	for _, set := range []struct {
		name string
		bundleSet
	}{{"candidate", s.Candidate}, {"fast", s.Fast}, {"stable", s.Stable}} {
		all, err := t.versions(set.name, set.bundleSet)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		made, err = t.addChannels(made, set.name, kinds, all)
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if made == nil {
		return nil, fmt.Errorf("%s lists no bundles: want candidate, fast or stable, with bundles", t.path)
	}
	slices.SortFunc(made.Channels, func(a, b *catalog.Channel) int { return strings.Compare(a.Name, b.Name) })
	return &catalog.Catalog{Packages: []*catalog.Package{made}}, nil
}

// versions returns the bundles of a list, in the order of their versions.
func (t *template) versions(list string, set bundleSet) ([]versioned, error) {
	var all []versioned
	var problems []error
	for i, one := range set.Bundles {
		b, err := t.resolve(one.Image, t.place(1))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s.bundles[%d]: %w", list, i, err))
			continue
		}
		version, err := semver.Parse(b.bundle.Version())
		if err != nil {
			problems = append(problems, fmt.Errorf("%s.bundles[%d]: %s: %q is not a semantic version", list, i, b.bundle.Name, b.bundle.Version()))
			continue
		}
		all = append(all, versioned{b, version})
	}
	slices.SortStableFunc(all, func(a, b versioned) int { return a.version.Compare(b.version) })
	for i := 1; i < len(all); i++ {
		if all[i].version.EQ(all[i-1].version) {
			problems = append(problems, fmt.Errorf("%s: the versions %s and %s have no order", list, all[i-1].version, all[i].version))
		}
	}
	return all, errors.Join(problems...)
}

// addChannels adds the channels of a list to the package. The channel with the highest version becomes the default: lists are added from the
// least to the most stable one.
func (t *template) addChannels(p *catalog.Package, list string, kinds []string, all []versioned) (*catalog.Package, error) {
	for _, one := range all {
		if p == nil {
			p = &catalog.Package{}
			*p = *one.of
			p.Channels, p.Bundles = nil, nil
			t.newest = one.version
		}
		if one.version.GTE(t.newest) { // also than those of the lists before
			t.newest, p.Description, p.Icon = one.version, one.of.Description, one.of.Icon
		}
		if one.of.Name != p.Name {
			return p, fmt.Errorf("%s: the bundle %s is of package %s, and others are of %s", t.path, one.bundle.Name, one.of.Name, p.Name)
		}
		if p.Bundle(one.bundle.Name) == nil {
			p.Bundles = append(p.Bundles, one.bundle)
		}
	}
	entries := chain(all)
	for _, kind := range kinds {
		for i, one := range all {
			name := channelName(list, kind, one.version)
			channel := p.Channel(name)
			if channel == nil {
				channel = &catalog.Channel{Package: p.Name, Name: name}
				p.Channels = append(p.Channels, channel)
			}
			channel.Entries = append(channel.Entries, entries[i])
			p.DefaultChannel = name
		}
	}
	return p, nil
}

func channelName(list, kind string, v semver.Version) string {
	if kind == majorKind {
		return fmt.Sprintf("%s-v%d", list, v.Major)
	}
	return fmt.Sprintf("%s-v%d.%d", list, v.Major, v.Minor)
}

// chain returns the entries of bundles in the order of their versions. The last version of a minor version replaces the last one of the minor
// version before, and skips all other lower ones of the major version.
func chain(all []versioned) []catalog.Entry {
	entries := make([]catalog.Entry, len(all))
	lower := map[string]bool{} // of the major version
	previous := ""             // the last version of the minor version before
	for i, one := range all {
		entries[i].Name = one.bundle.Name
		last := i == len(all)-1 || minor(all[i+1].version) != minor(one.version)
		if last {
			entries[i].Replaces = previous
			for _, name := range slices.Sorted(maps.Keys(lower)) {
				if name != previous {
					entries[i].Skips = append(entries[i].Skips, name)
				}
			}
			previous = one.bundle.Name
		}
		lower[one.bundle.Name] = true
		if i < len(all)-1 && all[i+1].version.Major != one.version.Major {
			clear(lower)
			previous = ""
		}
	}
	return entries
}

// minor identifies a minor version.
func minor(v semver.Version) string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
