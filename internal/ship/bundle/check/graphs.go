package check

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/resolve"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// checkGraphs checks the upgrade graphs of all packages.
func (c *checker) checkGraphs() {
	for _, one := range grouped(c.entries) {
		if c.ctx.Err() != nil {
			return
		}
		all, err := guarded(c.Limit, func() findings { return one.check() })
		if err != nil {
			all.add(crashed, one.entries[0].at, "package %s: %v", one.Name, err)
		}
		one.made.Findings, _, one.made.Outcome = settle(all)
		c.addPackage(one)
	}
}

// addPackage adds the result for a package, to that of its description in the older layout if it has one.
func (c *checker) addPackage(one *pack) {
	dir := filepath.Dir(one.entries[0].bundle.Dir)
	for i := range c.report.Packages {
		has := &c.report.Packages[i]
		if has.Dir != dir || has.Name != one.Name {
			continue
		}
		has.Channels = one.made.Channels
		has.Findings, _, has.Outcome = settle(append(has.Findings, one.made.Findings...))
		return
	}
	c.report.Packages = append(c.report.Packages, one.made)
}

// pack is a package with its bundles.
type pack struct {
	resolve.Package
	entries []*entry
	made    Package
}

// grouped returns the packages of bundles. If bundles of two directories have the same name, they are copies of the package, and the
// directories are packages of their own.
func grouped(entries []*entry) []*pack {
	byName := map[string][]*entry{}
	for _, one := range entries {
		if one.bundle.Package != "" {
			byName[one.bundle.Package] = append(byName[one.bundle.Package], one)
		}
	}
	var all []*pack
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		of := byName[name]
		slices.SortFunc(of, func(a, b *entry) int { return cmp.Compare(a.bundle.Dir, b.bundle.Dir) })
		parts := map[string][]*entry{"": of}
		if repeats(of) {
			parts = map[string][]*entry{}
			for _, one := range of {
				parent := filepath.Dir(one.bundle.Dir)
				parts[parent] = append(parts[parent], one)
			}
		}
		for _, parent := range slices.Sorted(maps.Keys(parts)) {
			all = append(all, newPack(name, parts[parent]))
		}
	}
	return all
}

func repeats(entries []*entry) bool {
	seen := map[string]bool{}
	for _, one := range entries {
		if seen[one.entry.Name] {
			return true
		}
		seen[one.entry.Name] = true
	}
	return false
}

func newPack(name string, entries []*entry) *pack {
	p := &pack{Package: resolve.Package{Name: name}, entries: entries, made: Package{Name: name}}
	channels := map[string]*resolve.Channel{}
	var newest *semver.Version
	for _, one := range entries {
		if version, err := semver.Parse(one.version); err == nil && (newest == nil || version.GT(*newest)) {
			newest = &version
			p.DefaultChannel = cmp.Or(one.bundle.DefaultChannel, p.DefaultChannel)
		}
		// Without dependencies: whether an upgrade exists does not depend on what else the directories contain.
		p.Bundles = append(p.Bundles, resolve.Bundle{Name: one.entry.Name, Version: one.version})
		for _, channel := range one.bundle.Channels {
			if channels[channel] == nil {
				channels[channel] = &resolve.Channel{Name: channel}
			}
			channels[channel].Entries = append(channels[channel].Entries, one.entry)
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(channels)) {
		p.Channels = append(p.Channels, *channels[channel])
	}
	return p
}

// check follows the upgrades of each channel.
func (p *pack) check() findings {
	var all findings
	for _, channel := range p.Channels {
		made := Channel{Name: channel.Name, Entries: len(channel.Entries)}
		made.Head = p.follow(channel, &all)
		p.made.Channels = append(p.made.Channels, made)
	}
	return all
}

// place returns the place of the bundle with a name, or of the first one.
func (p *pack) place(name string) rule.Place {
	for _, one := range p.entries {
		if one.entry.Name == name {
			return one.at
		}
	}
	return p.entries[0].at
}

// follow installs the head of a channel, and follows the upgrades from each entry to it. It returns the head, or an empty string if the
// channel is broken.
func (p *pack) follow(channel resolve.Channel, all *findings) string {
	first := p.resolve(channel, "")
	if first.Action != resolve.Install {
		all.add(packageGraph, p.place(""), "package %s: %s", p.Name, first.Message)
		return ""
	}
	versions := p.versions()
	if slices.ContainsFunc(channel.Entries, func(e resolve.Entry) bool { _, err := semver.Parse(versions[e.Name]); return err != nil }) {
		return first.Bundle.Name // the lint has a finding; the resolver does not use such a bundle
	}
	path := pathOf(channel, versions)
	if head := path.head(); first.Bundle.Name != head {
		all.add(upgradePath, p.place(head), "package %s, channel %s: a new installation gets %s, want the head %s", p.Name, channel.Name, first.Bundle.Name, head)
	}
	for _, one := range channel.Entries {
		p.step(channel, path, one.Name, all)
	}
	return first.Bundle.Name
}

// step compares the next upgrade of an entry with the one that follows from the channel.
func (p *pack) step(channel resolve.Channel, path *path, from string, all *findings) {
	next := p.resolve(channel, from)
	want := path.next(from)
	switch {
	case from == path.head():
		if next.Reason != resolve.AtHead {
			all.add(upgradePath, p.place(from), "package %s, channel %s: %s is the head, and the resolver returns %s: %s", p.Name, channel.Name, from, next.Reason, next.Message)
		}
	case want != next.Bundle.Name:
		all.add(upgradePath, p.place(from), "package %s, channel %s: %s is upgraded to %q, want %q: %s", p.Name, channel.Name, from, next.Bundle.Name, want, next.Message)
	case want == "":
		all.add(packageGraph, p.place(from), "package %s: no upgrade leads from %s to the head %s: %s", p.Name, from, path.head(), next.Message)
	}
}

func (p *pack) versions() map[string]string {
	all := map[string]string{}
	for _, one := range p.entries {
		all[one.entry.Name] = one.version
	}
	return all
}

// resolve returns what the lifecycle manager does for a Subscription with an installed bundle, or with none.
func (p *pack) resolve(channel resolve.Channel, installed string) resolve.Outcome {
	const name = "subscription"
	at := types.NamespacedName{Namespace: home, Name: "catalog"}
	problem := resolve.Problem{
		Namespace:     home,
		Subscriptions: []resolve.Subscription{{Name: name, Package: p.Name, Channel: channel.Name, Catalog: at, InstalledCSV: installed}},
		Catalogs:      []resolve.Catalog{{NamespacedName: at, Source: single{&p.Package}}},
	}
	if installed != "" {
		problem.Installed = []resolve.Installed{{
			Bundle: resolve.Bundle{Name: installed, Version: p.versions()[installed]}, Package: p.Name, Subscription: name,
		}}
	}
	result, err := resolve.Resolve(problem)
	if err != nil || len(result.Subscriptions) != 1 {
		panic(fmt.Sprintf("the resolver returns %d results: %v", len(result.Subscriptions), err))
	}
	return result.Subscriptions[0]
}

// single is a catalog with one package.
type single struct{ pkg *resolve.Package }

func (s single) Package(name string) (*resolve.Package, error) {
	if name != s.pkg.Name {
		return nil, nil
	}
	return s.pkg, nil
}

func (s single) Find(resolve.Query) ([]string, error) { return []string{s.pkg.Name}, nil }
