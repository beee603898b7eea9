package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Check adds the problems of all packages to them. A package with problems cannot be offered; the others can.
func (c *Catalog) Check() {
	for _, p := range c.Packages {
		p.check()
	}
}

func (p *Package) check() {
	if !p.defined {
		p.problem(p.anywhere(), "there is no object of schema %s for it", packageSchema)
	} else {
		p.checkDefault()
		p.checkIcon()
	}
	p.checkBundles()
	for _, channel := range p.Channels {
		p.checkChannel(channel)
	}
	p.checkMembers()
	p.checkDeprecations()
}

// anywhere returns the place of an object of the package.
func (p *Package) anywhere() rule.Place {
	switch {
	case len(p.Channels) > 0:
		return p.Channels[0].at
	case len(p.Bundles) > 0:
		return p.Bundles[0].at
	case len(p.Problems) > 0:
		return p.Problems[0].At
	case len(p.Deprecations) > 0:
		return p.Deprecations[0].at
	}
	return p.at
}

func (p *Package) checkDefault() {
	switch {
	case p.DefaultChannel == "":
		p.problem(p.at, "defaultChannel is missing")
	case p.Channel(p.DefaultChannel) == nil:
		p.problem(p.at, "defaultChannel: there is no channel %q", p.DefaultChannel)
	}
}

// iconNames are other names of media types.
var iconNames = map[string]string{"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/vnd.microsoft.icon": "image/x-icon", "image/x-png": "image/png"}

// checkIcon checks that the data of an icon agrees with its media type. Formats that cannot be recognized are accepted.
func (p *Package) checkIcon() {
	if p.Icon == nil || len(p.Icon.Data) == 0 {
		return
	}
	want, _, err := mime.ParseMediaType(p.Icon.MediaType)
	if err != nil || !strings.HasPrefix(want, "image/") {
		p.problem(p.at, "icon: the media type %q is not one of an image", p.Icon.MediaType)
		return
	}
	if want == "image/svg+xml" {
		if !strings.Contains(string(p.Icon.Data), "<svg") {
			p.problem(p.at, "icon: the data is not an SVG image")
		}
		return
	}
	got := http.DetectContentType(p.Icon.Data)
	if got != "application/octet-stream" && got != cmp.Or(iconNames[want], want) {
		p.problem(p.at, "icon: the media type is %q, and the data is %s", p.Icon.MediaType, got)
	}
}

func (p *Package) checkBundles() {
	versions := map[string]string{}
	for _, b := range p.Bundles {
		if b.Name == "" {
			p.problem(b.at, "the bundle has no name")
			continue
		}
		hasObjects := slices.ContainsFunc(b.Properties, func(one Property) bool { return one.Type == objectProperty })
		if _, err := name.ParseReference(b.Image); b.Image != "" && err != nil {
			p.problem(b.at, "bundle %s: %q is not an image", b.Name, b.Image)
		} else if b.Image == "" && !hasObjects {
			p.problem(b.at, "bundle %s has neither an image nor properties %s", b.Name, objectProperty)
		}
		p.checkProperties(b)
		version := b.release()
		if other := versions[version]; version != "" && other != "" {
			p.problem(b.at, "bundle %s has the version %s, as %s has", b.Name, version, other)
		}
		versions[version] = b.Name
	}
}

func (p *Package) checkProperties(b *Bundle) {
	own := 0
	for i, one := range b.Properties {
		if one.Type == "" || len(one.Value) == 0 {
			p.problem(b.at, "bundle %s: properties[%d]: want type and value", b.Name, i)
			continue
		}
		if one.Type != packageProperty {
			if problem := one.check(); problem != "" {
				p.problem(b.at, "bundle %s: properties[%d], %s: %s", b.Name, i, one.Type, problem)
			}
			continue
		}
		own++
		var value struct{ PackageName, Version string }
		if err := json.Unmarshal(one.Value, &value); err != nil || value.PackageName != p.Name {
			p.problem(b.at, "bundle %s: properties[%d], %s: packageName is %q, want %s", b.Name, i, one.Type, value.PackageName, p.Name)
		}
		if _, err := semver.Parse(value.Version); err != nil {
			p.problem(b.at, "bundle %s: properties[%d], %s: %q is not a semantic version", b.Name, i, one.Type, value.Version)
		}
	}
	if own != 1 {
		p.problem(b.at, "bundle %s has %d properties %s, want 1", b.Name, own, packageProperty)
	}
}

// check returns a problem of a property whose type is known, or "".
func (o Property) check() string {
	switch o.Type {
	case kindProperty, requiredKindProperty:
		var value struct{ Group, Version, Kind string }
		if err := json.Unmarshal(o.Value, &value); err != nil || value.Group == "" || value.Version == "" || value.Kind == "" {
			return "want group, version and kind"
		}
	case requiredPackageProperty:
		var value struct{ PackageName, VersionRange string }
		if err := json.Unmarshal(o.Value, &value); err != nil || value.PackageName == "" {
			return "want packageName and versionRange"
		}
		if _, err := semver.ParseRange(value.VersionRange); err != nil {
			return fmt.Sprintf("%q is not a range of versions", value.VersionRange)
		}
	}
	return ""
}

// checkChannel checks that each entry of a channel leads to the only head.
func (p *Package) checkChannel(c *Channel) {
	if c.Name == "" {
		p.problem(c.at, "the channel has no name")
	}
	if len(c.Entries) == 0 {
		p.problem(c.at, "channel %s has no entries", c.Name)
		return
	}
	seen := map[string]bool{}
	for i, one := range c.Entries {
		if one.Name == "" {
			p.problem(c.at, "channel %s: entries[%d] has no name", c.Name, i)
			return
		}
		if seen[one.Name] {
			p.problem(c.at, "channel %s lists %s twice", c.Name, one.Name)
			return
		}
		seen[one.Name] = true
		if slices.Contains(one.Skips, "") {
			p.problem(c.at, "channel %s: %s: skips has an empty name", c.Name, one.Name)
		}
		if one.SkipRange != "" {
			if _, err := semver.ParseRange(one.SkipRange); err != nil {
				p.problem(c.at, "channel %s: %s: skipRange %q is not a range of versions", c.Name, one.Name, one.SkipRange)
			}
		}
		if p.Bundle(one.Name) == nil {
			p.problem(c.at, "channel %s: there is no bundle %s", c.Name, one.Name)
		}
	}
	p.checkGraph(c)
}

func (p *Package) checkGraph(c *Channel) {
	if cycle := c.cycle(); len(cycle) > 0 {
		p.problem(c.at, "channel %s: the entries replace each other in a circle: %s", c.Name, strings.Join(cycle, " → "))
		return
	}
	heads := c.Heads()
	if len(heads) != 1 {
		p.problem(c.at, "channel %s has %d heads, want 1: %s; let one of them replace or skip the others", c.Name, len(heads), strings.Join(heads, ", "))
		return
	}
	if stranded := c.stranded(heads[0]); len(stranded) > 0 {
		p.problem(c.at, "channel %s: %s: no upgrade leads from there to the head %s: let an entry skip it, or replace it on the way to the head",
			c.Name, strings.Join(stranded, ", "), heads[0])
	}
}

// checkMembers reports bundles that no channel offers.
func (p *Package) checkMembers() {
	listed := map[string]bool{}
	for _, c := range p.Channels {
		for _, one := range c.Entries {
			listed[one.Name] = true
		}
	}
	for _, b := range p.Bundles {
		if b.Name != "" && !listed[b.Name] {
			p.problem(b.at, "bundle %s is in no channel", b.Name)
		}
	}
	if p.defined && len(p.Channels) == 0 {
		p.problem(p.at, "the package has no channels")
	}
}

func (p *Package) checkDeprecations() {
	for _, one := range p.Deprecations {
		if !p.knows(one.Reference) {
			p.problem(one.at, "a deprecation is of %s %q, which the package does not have", one.Reference.Schema, one.Reference.Name)
		}
		if one.Message == "" {
			p.problem(one.at, "the deprecation of %s %q has no message", one.Reference.Schema, one.Reference.Name)
		}
	}
}

// knows reports whether the package has what a deprecation refers to.
func (p *Package) knows(what Reference) bool {
	switch what.Schema {
	case packageSchema:
		return what.Name == "" || what.Name == p.Name
	case channelSchema:
		return p.Channel(what.Name) != nil
	case bundleSchema:
		return p.Bundle(what.Name) != nil
	}
	return false
}

// entries returns the entries by name.
func (c *Channel) entries() map[string]Entry {
	all := map[string]Entry{}
	for _, one := range c.Entries {
		all[one.Name] = one
	}
	return all
}

// Heads returns the names of the entries that no entry replaces or skips, sorted. An entry that only skips one which is gone is a head, too,
// and one that replaces or skips itself is none.
func (c *Channel) Heads() []string {
	heads := c.entries()
	for _, one := range c.Entries {
		for _, older := range append([]string{one.Replaces}, one.Skips...) {
			delete(heads, older)
		}
	}
	return slices.Sorted(maps.Keys(heads))
}

// stranded returns the entries, sorted, that are neither on the chain of replaces from the head nor skipped. The chain ends before an entry
// that is skipped. This is the rule by which opm validates catalogs.
func (c *Channel) stranded(head string) []string {
	entries, left := c.entries(), c.entries()
	skipped := map[string]bool{}
	for _, one := range c.Entries {
		for _, older := range one.Skips {
			skipped[older] = true
			delete(left, older)
		}
	}
	for at, ok := entries[head]; ok && !skipped[at.Name]; at, ok = entries[at.Replaces] {
		delete(left, at.Name)
		delete(entries, at.Name) // in a circle, the chain ends, too
	}
	return slices.Sorted(maps.Keys(left))
}

// cycle returns a circle of entries that replace each other, or nothing.
func (c *Channel) cycle() []string {
	entries := c.entries()
	for _, start := range c.Entries {
		path := []string{start.Name}
		for at := start; at.Replaces != "" && len(path) <= len(c.Entries); {
			next, ok := entries[at.Replaces]
			if !ok {
				break
			}
			path = append(path, next.Name)
			if next.Name == start.Name {
				return path
			}
			at = next
		}
	}
	return nil
}
