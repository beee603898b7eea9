package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/registry"
)

// record reads the record of a package.
func (s *Store) record(of packageEntry) (*record, error) {
	content, err := of.Record.load(s.data)
	if err != nil {
		return nil, err
	}
	made := &record{}
	if err := json.Unmarshal(content, made); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return made, nil
}

// named reads the record of the package with a name.
func (s *Store) named(name string) (*record, error) {
	found, err := s.entry(name)
	if err != nil {
		return nil, err
	}
	return s.record(found)
}

func (s *Store) entry(name string) (packageEntry, error) {
	i, found := slices.BinarySearchFunc(s.Packages, name, func(one packageEntry, name string) int { return strings.Compare(one.Name, name) })
	if !found || s.Packages[i].Record == nil {
		return packageEntry{}, fmt.Errorf("package %q: %w", name, ErrNotFound)
	}
	return s.Packages[i], nil
}

func (s *Store) inChannel(name, channel string) (*record, *channelRecord, error) {
	r, err := s.named(name)
	if err != nil {
		return nil, nil, err
	}
	c := r.channel(channel)
	if c == nil {
		return nil, nil, fmt.Errorf("package %q, channel %q: %w", name, channel, ErrNotFound)
	}
	return r, c, nil
}

// Package returns a package with its channels.
func (s *Store) Package(name string) (*registry.Package, error) {
	r, err := s.named(name)
	if err != nil {
		return nil, err
	}
	made := &registry.Package{Name: r.Name, DefaultChannelName: r.DefaultChannel, Deprecation: deprecation(r.Deprecated)}
	for _, c := range r.Channels {
		made.Channels = append(made.Channels, &registry.Channel{Name: c.Name, CsvName: c.Head, Deprecation: deprecation(c.Deprecated)})
	}
	return made, nil
}

// Content returns a package with all objects that the catalog has of it.
func (s *Store) Content(name string) (*catalog.Package, error) {
	found, err := s.entry(name)
	if err != nil {
		return nil, err
	}
	lines, err := found.Lines.load(s.lines)
	if err != nil {
		return nil, err
	}
	var objects []catalog.Located
	for line := range bytes.Lines(lines) {
		objects = append(objects, catalog.Located{Raw: line})
	}
	made := catalog.New(objects, nil)
	if len(made.Packages) != 1 || len(made.Packages[0].Problems) > 0 {
		return nil, fmt.Errorf("%w: package %q", ErrCorrupt, name)
	}
	return made.Packages[0], nil
}

func deprecation(message string) *registry.Deprecation {
	if message == "" {
		return nil
	}
	return &registry.Deprecation{Message: message}
}

// Bundle returns a bundle in a channel, with its manifests. What it replaces is in the entries of the channel.
func (s *Store) Bundle(of, channel, name string) (*registry.Bundle, error) {
	r, c, err := s.inChannel(of, channel)
	if err != nil {
		return nil, err
	}
	for _, entry := range c.Entries {
		if entry.Name == name {
			return s.whole(r, c, entry)
		}
	}
	return nil, fmt.Errorf("package %q, channel %q, bundle %q: %w", of, channel, name, ErrNotFound)
}

// Head returns the newest bundle of a channel.
func (s *Store) Head(of, channel string) (*registry.Bundle, error) {
	r, c, err := s.inChannel(of, channel)
	if err != nil {
		return nil, err
	}
	return s.headOf(r, c)
}

func (s *Store) headOf(r *record, c *channelRecord) (*registry.Bundle, error) {
	return s.whole(r, c, c.head())
}

func (c *channelRecord) head() catalog.Entry {
	for _, entry := range c.Entries {
		if entry.Name == c.Head {
			return entry
		}
	}
	return catalog.Entry{Name: c.Head}
}

// Replacement returns the bundle of a channel that replaces another one, or else the first one that skips it.
func (s *Store) Replacement(name, of, channel string) (*registry.Bundle, error) {
	r, c, err := s.inChannel(of, channel)
	if err != nil {
		return nil, err
	}
	for _, leads := range []func(catalog.Entry) bool{
		func(e catalog.Entry) bool { return e.Replaces == name },
		func(e catalog.Entry) bool { return slices.Contains(e.Skips, name) },
	} {
		if i := slices.IndexFunc(c.Entries, leads); i >= 0 && name != "" {
			return s.whole(r, c, c.Entries[i])
		}
	}
	return nil, fmt.Errorf("package %q, channel %q, a bundle that replaces %q: %w", of, channel, name, ErrNotFound)
}

// Replacing returns the entries of all channels that replace or skip a bundle.
func (s *Store) Replacing(name string) ([]*registry.ChannelEntry, error) {
	var found []*registry.ChannelEntry
	err := s.eachChannel(replacesKey(name), func(r *record, c *channelRecord) error {
		for _, e := range c.Entries {
			if name != "" && (e.Replaces == name || slices.Contains(e.Skips, name)) {
				found = append(found, &registry.ChannelEntry{PackageName: r.Name, ChannelName: c.Name, BundleName: e.Name, Replaces: e.Replaces})
			}
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		return nil, fmt.Errorf("a channel entry that replaces %q: %w", name, ErrNotFound)
	}
	return found, err
}

// eachChannel visits the channels of the packages with a key.
func (s *Store) eachChannel(hash uint64, visit func(*record, *channelRecord) error) error {
	for _, i := range s.keys.find(hash) {
		r, err := s.record(s.Packages[i])
		if err != nil {
			return err
		}
		for c := range r.Channels {
			if err := visit(r, &r.Channels[c]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Providing returns the entries of all channels whose bundles provide a kind: one for each bundle that they replace or skip.
func (s *Store) Providing(kind schema.GroupVersionKind) ([]*registry.ChannelEntry, error) {
	return s.providing(kind, func(r *record, c *channelRecord) []*registry.ChannelEntry {
		var found []*registry.ChannelEntry
		for _, e := range c.Entries {
			if r.provides(e.Name, kind) {
				found = append(found, entriesOf(r, c, e, e.Skips)...)
			}
		}
		return found
	})
}

// LatestProviding is like Providing, for the heads of channels and what they replace in the same channel.
func (s *Store) LatestProviding(kind schema.GroupVersionKind) ([]*registry.ChannelEntry, error) {
	return s.providing(kind, func(r *record, c *channelRecord) []*registry.ChannelEntry {
		if !r.provides(c.Head, kind) {
			return nil
		}
		head := c.head()
		skips := slices.DeleteFunc(slices.Clone(head.Skips), func(name string) bool {
			return !slices.ContainsFunc(c.Entries, func(e catalog.Entry) bool { return e.Name == name })
		})
		return entriesOf(r, c, head, skips)
	})
}

func (s *Store) providing(kind schema.GroupVersionKind, of func(*record, *channelRecord) []*registry.ChannelEntry) ([]*registry.ChannelEntry, error) {
	var found []*registry.ChannelEntry
	err := s.eachChannel(providesKey(kind), func(r *record, c *channelRecord) error {
		found = append(found, of(r, c)...)
		return nil
	})
	if err == nil && len(found) == 0 {
		return nil, noProvider(kind)
	}
	return found, err
}

func noProvider(kind schema.GroupVersionKind) error {
	return fmt.Errorf("a bundle that provides group %q, version %q, kind %q: %w", kind.Group, kind.Version, kind.Kind, ErrNotFound)
}

func (r *record) provides(bundle string, kind schema.GroupVersionKind) bool {
	b := r.bundle(bundle)
	return b != nil && slices.Contains(b.Provides, kind)
}

func entriesOf(r *record, c *channelRecord, e catalog.Entry, skips []string) []*registry.ChannelEntry {
	all := []*registry.ChannelEntry{{PackageName: r.Name, ChannelName: c.Name, BundleName: e.Name, Replaces: e.Replaces}}
	for _, name := range skips {
		if name != e.Replaces {
			all = append(all, &registry.ChannelEntry{PackageName: r.Name, ChannelName: c.Name, BundleName: e.Name, Replaces: name})
		}
	}
	return all
}

// Provider returns the head of the default channel of the first package that provides a kind there.
func (s *Store) Provider(kind schema.GroupVersionKind) (*registry.Bundle, error) {
	for _, i := range s.keys.find(providesKey(kind)) {
		r, err := s.record(s.Packages[i])
		if err != nil {
			return nil, err
		}
		if c := r.channel(r.DefaultChannel); c != nil && r.provides(c.Head, kind) {
			return s.headOf(r, c)
		}
	}
	return nil, noProvider(kind)
}

// List passes each bundle in each channel to a function, with what it replaces, and with its manifests only if it has no image.
func (s *Store) List(ctx context.Context, each func(*registry.Bundle) error) error {
	for _, one := range s.Packages {
		if one.Record == nil {
			continue
		}
		r, err := s.record(one)
		if err != nil {
			return err
		}
		for i := range r.Channels {
			if err := s.listChannel(ctx, r, &r.Channels[i], each); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) listChannel(ctx context.Context, r *record, c *channelRecord, each func(*registry.Bundle) error) error {
	for _, entry := range c.Entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		made, err := s.short(r, c, entry)
		if err != nil {
			return err
		}
		if made.BundlePath == "" {
			if err := s.addRest(r, entry, made); err != nil {
				return err
			}
		}
		made.Replaces, made.Skips = entry.Replaces, entry.Skips
		if err := each(made); err != nil {
			return err
		}
	}
	return nil
}

// whole returns a bundle with its manifests.
func (s *Store) whole(r *record, c *channelRecord, entry catalog.Entry) (*registry.Bundle, error) {
	made, err := s.short(r, c, entry)
	if err != nil {
		return nil, err
	}
	return made, s.addRest(r, entry, made)
}

func (s *Store) short(r *record, c *channelRecord, entry catalog.Entry) (*registry.Bundle, error) {
	b := r.bundle(entry.Name)
	if b == nil {
		return nil, fmt.Errorf("%w: package %s has no bundle %s", ErrCorrupt, r.Name, entry.Name)
	}
	made := &registry.Bundle{}
	if err := s.merge(b.Short, made); err != nil {
		return nil, err
	}
	made.ChannelName, made.SkipRange, made.Deprecation = c.Name, entry.SkipRange, deprecation(b.Deprecated)
	return made, nil
}

func (s *Store) addRest(r *record, entry catalog.Entry, made *registry.Bundle) error {
	return s.merge(r.bundle(entry.Name).Rest, made)
}

// merge reads fields of a message.
func (s *Store) merge(at span, into *registry.Bundle) error {
	content, err := at.load(s.data)
	if err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(content, into); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}
