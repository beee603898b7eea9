package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/operon-framework/operon/internal/core/plural"
)

// Change is a difference between two catalogs.
type Change struct {
	Package string `json:"package"`
	// Text is what changed, in words.
	Text string `json:"text"`
	// Breaks reports that installed operators may lose their way to newer versions, or that a new Subscription gets something else.
	Breaks bool `json:"breaks,omitempty"`
}

// Diff returns what users of a catalog notice when it is replaced by a newer one.
func Diff(before, after *Catalog) []Change {
	d := &differ{}
	for _, p := range before.Packages {
		d.name = p.Name
		if now := after.Package(p.Name); now != nil {
			d.compare(p, now)
		} else {
			d.add(true, "the package is removed")
		}
	}
	for _, p := range after.Packages {
		if before.Package(p.Name) == nil {
			d.name = p.Name
			d.add(false, "the package is new: %s, default channel %s", plural.Count(len(p.Bundles), "bundle"), p.DefaultChannel)
		}
	}
	slices.SortStableFunc(d.changes, func(a, b Change) int { return strings.Compare(a.Package, b.Package) })
	return d.changes
}

type differ struct {
	name    string
	changes []Change
}

func (d *differ) add(breaks bool, format string, values ...any) {
	d.changes = append(d.changes, Change{d.name, fmt.Sprintf(format, values...), breaks})
}

func (d *differ) compare(before, after *Package) {
	if before.DefaultChannel != after.DefaultChannel {
		d.add(true, "the default channel is %s instead of %s", after.DefaultChannel, before.DefaultChannel)
	}
	d.texts(before, after)
	for _, b := range before.Bundles {
		if now := after.Bundle(b.Name); now != nil {
			d.bundle(b, now)
		} else {
			d.add(true, "bundle %s is removed", b.Name)
		}
	}
	for _, b := range after.Bundles {
		if before.Bundle(b.Name) == nil {
			d.add(false, "bundle %s is new", b.Name)
		}
	}
	for _, c := range before.Channels {
		if now := after.Channel(c.Name); now != nil {
			d.channel(before, c, now)
		} else {
			d.add(true, "channel %s is removed", c.Name)
		}
	}
	for _, c := range after.Channels {
		if before.Channel(c.Name) == nil {
			d.add(false, "channel %s is new, with the head %s", c.Name, strings.Join(c.Heads(), ", "))
		}
	}
	d.deprecations(before, after)
}

// texts compares what people read about a package.
func (d *differ) texts(before, after *Package) {
	if before.Description != after.Description {
		d.add(false, "the description differs")
	}
	if !reflect.DeepEqual(before.Icon, after.Icon) {
		d.add(false, "the icon differs")
	}
	if !sameProperties(before.Properties, after.Properties) {
		d.add(false, "the package has other properties")
	}
}

func (d *differ) bundle(before, after *Bundle) {
	if before.Image != after.Image {
		d.add(false, "bundle %s has the image %s instead of %s", after.Name, orNothing(after.Image), orNothing(before.Image))
	}
	if was, is := before.release(), after.release(); was != is {
		d.add(false, "bundle %s has the version %s instead of %s", after.Name, orNothing(is), orNothing(was))
	}
	if !sameProperties(before.Properties, after.Properties) {
		d.add(false, "bundle %s has other properties", after.Name)
	}
	if !slices.Equal(before.RelatedImages, after.RelatedImages) {
		d.add(false, "bundle %s has other related images", after.Name)
	}
}

func sameProperties(a, b []Property) bool {
	return slices.EqualFunc(a, b, func(x, y Property) bool {
		return x.Type == y.Type && bytes.Equal(compactJSON(x.Value), compactJSON(y.Value))
	})
}

func compactJSON(raw json.RawMessage) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return raw
	}
	return out.Bytes()
}

// channel compares the heads of a channel of a package, its properties, and the upgrades in it.
func (d *differ) channel(of *Package, before, after *Channel) {
	was, is := strings.Join(before.Heads(), ", "), strings.Join(after.Heads(), ", ")
	if was != is {
		d.add(false, "channel %s has the head %s instead of %s", after.Name, is, was)
	}
	if !sameProperties(before.Properties, after.Properties) {
		d.add(false, "channel %s has other properties", after.Name)
	}
	entries, known := after.entries(), before.entries()
	for _, one := range before.Entries {
		if now, ok := entries[one.Name]; ok {
			d.entry(of, after.Name, one, now)
		} else {
			d.add(true, "channel %s no longer has %s", after.Name, one.Name)
		}
	}
	for _, one := range after.Entries {
		if _, ok := known[one.Name]; !ok {
			d.add(false, "channel %s has %s", after.Name, one.Name)
		}
	}
}

// entry compares the upgrades to an entry. It breaks installed operators if they could be upgraded to it directly, and no longer can.
func (d *differ) entry(of *Package, channel string, before, after Entry) {
	lost := func(name string) bool {
		return name != "" && name != after.Replaces && !slices.Contains(after.Skips, name)
	}
	if before.Replaces != after.Replaces {
		d.add(lost(before.Replaces), "channel %s: %s replaces %s instead of %s", channel, after.Name, orNothing(after.Replaces), orNothing(before.Replaces))
	}
	for _, name := range before.Skips {
		if !slices.Contains(after.Skips, name) {
			d.add(lost(name), "channel %s: %s no longer skips %s", channel, after.Name, name)
		}
	}
	for _, name := range after.Skips {
		if !slices.Contains(before.Skips, name) {
			d.add(false, "channel %s: %s skips %s", channel, after.Name, name)
		}
	}
	if before.SkipRange != after.SkipRange {
		d.add(narrower(of, before.SkipRange, after.SkipRange), "channel %s: %s skips the versions %s instead of %s", channel, after.Name, orNothing(after.SkipRange), orNothing(before.SkipRange))
	}
}

// narrower reports whether a range of versions is gone, or has no longer a version of the package.
func narrower(of *Package, before, after string) bool {
	was, err := semver.ParseRange(before)
	if before == "" || err != nil {
		return false
	}
	is, err := semver.ParseRange(after)
	if after == "" || err != nil {
		return true
	}
	return slices.ContainsFunc(of.Bundles, func(b *Bundle) bool {
		version, err := semver.Parse(b.Version())
		return err == nil && was(version) && !is(version)
	})
}

func orNothing(name string) string {
	if name == "" {
		return "nothing"
	}
	return name
}

func (d *differ) deprecations(before, after *Package) {
	known := messages(before)
	now := messages(after)
	for _, what := range slices.Sorted(maps.Keys(now)) {
		if known[what] != now[what] {
			d.add(false, "%s is deprecated: %s", what, now[what])
		}
	}
	for _, what := range slices.Sorted(maps.Keys(known)) {
		if now[what] == "" {
			d.add(false, "%s is no longer deprecated", what)
		}
	}
}

// messages returns the messages of the deprecations of a package, by what is deprecated.
func messages(p *Package) map[string]string {
	all := map[string]string{}
	for _, one := range p.Deprecations {
		what := strings.TrimPrefix(one.Reference.Schema, "olm.") + " " + one.Reference.Name
		if one.Reference.Schema == packageSchema {
			what = "the package"
		}
		all[what] = one.Message
	}
	return all
}
