package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// graph is the upgrade graph of a channel that has no errors.
type graph struct {
	channel string
	// chain has the entries from the head down along replaces. Entries that another one skips are left out.
	chain []Entry
	all   map[string]Entry
	// skippedBy has the name of an entry that skips the key.
	skippedBy map[string]string
	ranges    map[string]semver.Range
}

// graph reads a channel. It fails unless all entries lead to exactly one head. Rules: the resolver of the Operator Lifecycle Manager, and the
// validation of file-based catalogs for entries that lead nowhere.
func (c *Channel) graph() (*graph, error) {
	g := &graph{channel: c.Name, all: map[string]Entry{}, skippedBy: map[string]string{}, ranges: map[string]semver.Range{}}
	if len(c.Entries) == 0 {
		return nil, fmt.Errorf("channel %s has no entries", c.Name)
	}
	for _, one := range c.Entries {
		if err := g.add(one); err != nil {
			return nil, fmt.Errorf("channel %s: %w", c.Name, err)
		}
	}
	head, err := g.findHead()
	if err != nil {
		return nil, fmt.Errorf("channel %s %w", c.Name, err)
	}
	if err := g.follow(head); err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return g, nil
}

func (g *graph) add(e Entry) error {
	if e.Name == "" {
		return fmt.Errorf("an entry has no name")
	}
	if _, twice := g.all[e.Name]; twice {
		return fmt.Errorf("%s is listed twice", e.Name)
	}
	g.all[e.Name] = e
	if e.SkipRange == "" {
		return nil
	}
	within, err := semver.ParseRange(e.SkipRange)
	if err != nil {
		return fmt.Errorf("%s: skipRange %q is not a range of versions", e.Name, e.SkipRange)
	}
	g.ranges[e.Name] = within
	return nil
}

// findHead returns the only entry that no other one replaces or skips, and records the skipped entries.
func (g *graph) findHead() (Entry, error) {
	heads := maps.Clone(g.all)
	for _, name := range slices.Sorted(maps.Keys(g.all)) {
		e := g.all[name]
		if e.Replaces == name {
			return Entry{}, fmt.Errorf("has a circle: %s replaces itself", name)
		}
		delete(heads, e.Replaces)
		for _, skipped := range e.Skips {
			if skipped != name {
				delete(heads, skipped)
				g.skippedBy[skipped] = name
			}
		}
	}
	names := slices.Sorted(maps.Keys(heads))
	switch len(names) {
	case 0:
		return Entry{}, fmt.Errorf("has no head: each of its entries is replaced or skipped by another one")
	case 1:
		return heads[names[0]], nil
	}
	return Entry{}, fmt.Errorf("has %d heads, want 1: %s", len(names), strings.Join(names, ", "))
}

// follow fills the chain, and fails if it is a circle or if an entry does not lead to the head.
func (g *graph) follow(head Entry) error {
	visited := map[string]bool{}
	for e, ok := head, true; ok; e, ok = g.all[e.Replaces] {
		if visited[e.Name] {
			return fmt.Errorf("the entries below the head %s replace each other in a circle: %s comes twice", head.Name, e.Name)
		}
		visited[e.Name] = true
		if g.skippedBy[e.Name] == "" {
			g.chain = append(g.chain, e)
		}
	}
	reached, next := map[string]bool{}, []string{head.Name}
	for len(next) > 0 {
		e, ok := g.all[next[0]]
		next = next[1:]
		if !ok || reached[e.Name] {
			continue
		}
		reached[e.Name] = true
		next = append(append(next, e.Replaces), e.Skips...)
	}
	for _, name := range slices.Sorted(maps.Keys(g.all)) {
		if !reached[name] {
			return fmt.Errorf("%s does not lead to the head %s", name, head.Name)
		}
	}
	return nil
}

func (g *graph) head() Entry { return g.chain[0] }

// position returns the position of a bundle in the chain, or -1.
func (g *graph) position(name string) int {
	return slices.IndexFunc(g.chain, func(e Entry) bool { return e.Name == name })
}

// successors returns the entries to which an installed bundle can be upgraded, the one closest to the head first. If the bundle is in the
// chain, only entries above it are considered: a skipRange that includes newer versions must not lead back.
func (g *graph) successors(installed string, version *semver.Version) []step {
	above := g.chain
	if at := g.position(installed); at >= 0 {
		above = g.chain[:at]
	}
	var found []step
	for _, e := range above {
		if e.Name == installed {
			continue
		}
		if how := g.reach(e, installed, version); how != "" {
			found = append(found, step{e, how})
		}
	}
	return found
}

// step is an entry that a Subscription can reach, and by which rule.
type step struct {
	Entry
	how Reason
}

func (g *graph) reach(e Entry, installed string, version *semver.Version) Reason {
	within := g.ranges[e.Name]
	switch {
	case e.Replaces == installed:
		return ByReplaces
	case slices.Contains(e.Skips, installed):
		return BySkips
	case within != nil && version != nil && within(*version):
		return BySkipRange
	}
	return ""
}

// noSuccessor explains why no entry follows an installed bundle that is not the head.
func (g *graph) noSuccessor(installed string) string {
	for _, name := range slices.Sorted(maps.Keys(g.all)) {
		if g.all[name].Replaces == installed && g.skippedBy[name] != "" {
			return fmt.Sprintf("%s replaces %s in channel %s, but %s skips %s and does not skip %s", name, installed, g.channel, g.skippedBy[name], name, installed)
		}
	}
	return fmt.Sprintf("no entry of channel %s replaces or skips %s", g.channel, installed)
}
