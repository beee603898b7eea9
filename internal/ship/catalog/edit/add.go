package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/tools/changes"
)

// Options describe an addition.
type Options struct {
	// Catalog is the directory of the catalog.
	Catalog string
	// Bundles are directories with bundles or packages.
	Bundles []string
	// Read are bundles that were read from images.
	Read []*bundle.Bundle
	// Image is the name of the image of each bundle, as for catalog.Render.
	Image string
	// Channels get the bundles (default: those that the bundles name).
	Channels []string
}

// Added is a bundle in a channel.
type Added struct {
	Bundle   string `json:"bundle"`
	Package  string `json:"package"`
	Channel  string `json:"channel"`
	Replaces string `json:"replaces,omitempty"`
}

func (a Added) String() string {
	text := fmt.Sprintf("%s: %s is the head of channel %s", a.Package, a.Bundle, a.Channel)
	if a.Replaces != "" {
		text += " and replaces " + a.Replaces
	}
	return text
}

// Add puts each bundle at the head of channels. It replaces the head until then, unless its ClusterServiceVersion names what it replaces. A
// package that the catalog does not have gets a file of its own. It fails if the package would have problems then, and writes nothing.
func Add(ctx context.Context, o Options) ([]Added, error) {
	rendered, err := catalog.Render(o.Bundles, o.Image, o.Read...)
	if err != nil {
		return nil, err
	}
	e := &editor{Options: o, files: map[string]*file{}}
	if err := catalog.Stream(o.Catalog, catalog.Visitor{
		Object:  func(one catalog.Located) error { e.objects = append(e.objects, one); return nil },
		Problem: func(one catalog.Problem) { e.problems = append(e.problems, one) },
	}); err != nil {
		return nil, err
	}
	for _, p := range rendered.Packages {
		if err := e.addPackage(p); err != nil {
			return nil, err
		}
	}
	if err := e.check(rendered); err != nil {
		return nil, err
	}
	return e.added, e.apply(ctx)
}

// editor holds a catalog that is being changed.
type editor struct {
	Options
	objects  []catalog.Located
	problems []catalog.Problem
	files    map[string]*file
	added    []Added
}

// addPackage adds the bundles of a package, the oldest first.
func (e *editor) addPackage(p *catalog.Package) error {
	if !slices.ContainsFunc(e.objects, func(one catalog.Located) bool { return one.Package == p.Name }) {
		return e.create(p)
	}
	for _, b := range p.Bundles {
		if at := e.find("olm.bundle", p.Name, b.Name); at != nil {
			return fmt.Errorf("bundle %s is in the catalog: %s; remove it there first, or give it another version", b.Name, at.At)
		}
		names := e.channelsOf(p, b)
		if len(names) == 0 {
			return fmt.Errorf("bundle %s names no channels: pass --channel", b.Name)
		}
		for _, name := range names {
			if err := e.addEntry(p.Name, name, entryOf(p, b), b.Version()); err != nil {
				return err
			}
		}
		if err := e.appendObject(e.fileOf(p.Name, names[0]), "olm.bundle", p.Name, b.Name, b); err != nil {
			return err
		}
	}
	return nil
}

// create makes a package with its bundles.
func (e *editor) create(p *catalog.Package) error {
	if len(e.Channels) > 0 {
		p.DefaultChannel, p.Channels = e.Channels[0], chained(p, e.Channels)
	}
	for _, c := range p.Channels {
		for _, entry := range c.Entries {
			e.added = append(e.added, Added{entry.Name, p.Name, c.Name, entry.Replaces})
		}
	}
	var content bytes.Buffer
	if err := p.Write(&content, catalog.YAML); err != nil {
		return err
	}
	path := filepath.Join(e.Catalog, p.Name, "catalog.yaml")
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s exists, and does not have the package %s", path, p.Name)
	}
	e.files[path] = &file{content: content.Bytes()}
	return nil
}

// chained returns channels in which each bundle replaces the one before it.
func chained(p *catalog.Package, names []string) []*catalog.Channel {
	var made []*catalog.Channel
	for _, name := range names {
		c := &catalog.Channel{Package: p.Name, Name: name}
		for i, b := range p.Bundles {
			entry := entryOf(p, b)
			if i > 0 && entry.Replaces == "" {
				entry.Replaces = p.Bundles[i-1].Name
			}
			c.Entries = append(c.Entries, entry)
		}
		made = append(made, c)
	}
	return made
}

// channelsOf returns the channels that get a bundle.
func (e *editor) channelsOf(p *catalog.Package, b *catalog.Bundle) []string {
	if len(e.Channels) > 0 {
		return e.Channels
	}
	var names []string
	for _, c := range p.Channels {
		if slices.ContainsFunc(c.Entries, func(entry catalog.Entry) bool { return entry.Name == b.Name }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// entryOf returns the entry that the bundle itself describes.
func entryOf(p *catalog.Package, b *catalog.Bundle) catalog.Entry {
	for _, c := range p.Channels {
		for _, entry := range c.Entries {
			if entry.Name == b.Name {
				return entry
			}
		}
	}
	return catalog.Entry{Name: b.Name}
}

// addEntry adds an entry to a channel, which it creates if necessary.
func (e *editor) addEntry(of, name string, entry catalog.Entry, version string) error {
	at := e.find("olm.channel", of, name)
	if at == nil {
		e.added = append(e.added, Added{entry.Name, of, name, entry.Replaces})
		return e.appendObject(e.fileOf(of, ""), "olm.channel", of, name, &catalog.Channel{Package: of, Name: name, Entries: []catalog.Entry{entry}})
	}
	channel := catalog.New([]catalog.Located{*at}, nil).Packages[0].Channel(name)
	if channel == nil {
		return fmt.Errorf("%s: channel %s cannot be read; operon catalog validate says why", at.At, name)
	}
	if heads := channel.Heads(); entry.Replaces == "" && len(heads) == 1 {
		if head := e.versionOf(of, heads[0]); older(version, head) {
			return fmt.Errorf("%s has the version %s, which is older than %s of %s, the head of channel %s: it would replace it as if it were an upgrade; "+
				"set spec.replaces of its ClusterServiceVersion, give it a newer version, or use another channel", entry.Name, version, head, heads[0], name)
		}
		entry.Replaces = heads[0]
	}
	e.added = append(e.added, Added{entry.Name, of, name, entry.Replaces})
	f, err := e.open(at.At.File)
	if err != nil {
		return err
	}
	return f.addEntry(at, entry)
}

// versionOf returns the version of a bundle in the catalog, or "" if it has none.
func (e *editor) versionOf(of, name string) string {
	at := e.find("olm.bundle", of, name)
	if at == nil {
		return ""
	}
	for _, p := range catalog.New([]catalog.Located{*at}, nil).Packages {
		if b := p.Bundle(name); b != nil {
			return b.Version()
		}
	}
	return ""
}

// older reports whether a version is older than another one. It is false if one of them cannot be parsed, which is reported elsewhere.
func older(version, other string) bool {
	one, err := semver.Parse(version)
	if err != nil {
		return false
	}
	two, err := semver.Parse(other)
	return err == nil && one.LT(two)
}

func (e *editor) find(schema, of, name string) *catalog.Located {
	for i, one := range e.objects {
		if one.Schema == schema && one.Package == of && one.Name == name {
			return &e.objects[i]
		}
	}
	return nil
}

// fileOf returns the file of a channel, or else that of another object of the package.
func (e *editor) fileOf(of, channel string) string {
	if at := e.find("olm.channel", of, channel); at != nil {
		return at.At.File
	}
	i := slices.IndexFunc(e.objects, func(one catalog.Located) bool { return one.Package == of })
	return e.objects[i].At.File
}

// check reports the problems that the changed packages have now.
func (e *editor) check(changed *catalog.Catalog) error {
	c := catalog.New(e.objects, e.problems)
	c.Check()
	changed.Check()
	var problems []error
	for _, p := range changed.Packages {
		now := c.Package(p.Name)
		if now == nil {
			now = p // it gets a file of its own
		}
		for _, one := range now.Problems {
			problems = append(problems, one)
		}
	}
	for _, one := range e.problems {
		if one.Package == "" && e.files[one.At.File] != nil { // what follows it may not be read
			problems = append(problems, one)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("nothing is added, because the package would have problems: %w", errors.Join(problems...))
	}
	return nil
}

func (e *editor) apply(ctx context.Context) error {
	set, err := changes.In(e.Catalog)
	if err != nil {
		return err
	}
	for path, f := range e.files {
		relative, err := filepath.Rel(e.Catalog, path)
		if err != nil {
			return err
		}
		set.Write(filepath.ToSlash(relative), f.bytes())
	}
	_, err = set.Apply(ctx)
	return err
}

// appendObject adds an object to the end of a file.
func (e *editor) appendObject(path, schema, of, name string, object any) error {
	f, err := e.open(path)
	if err != nil {
		return err
	}
	raw, err := catalog.Encode(schema, object)
	if err != nil {
		return err
	}
	at := catalog.Located{Schema: schema, Package: of, Name: name, Raw: raw, From: -1}
	at.At.File, at.At.Line, at.At.Column = path, 1+strings.Count(string(f.content), "\n"), 1
	e.objects = append(e.objects, at)
	return f.append(raw)
}
