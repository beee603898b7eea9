package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/registry"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// tempPrefix is the beginning of the names of files that are not complete yet.
const tempPrefix = ".part-"

// builder makes a cache. It keeps the objects of one package in memory.
type builder struct {
	index
	// spool is a file with all objects, and objects are their places in it by package.
	spool    appender
	from     io.ReaderAt
	objects  map[string][]spooled
	problems map[string][]catalog.Problem

	lines, data appender
	keys        []key
}

// spooled is an object in the spool.
type spooled struct {
	at   rule.Place
	line span
}

// build writes the cache of a catalog's files to two files. spool is an empty file for the objects on their way.
func build(ctx context.Context, sources []string, spool *os.File, about index, lines, data io.Writer) error {
	buffered := bufio.NewWriter(spool)
	b := &builder{
		index: about, spool: appender{out: buffered}, from: spool,
		objects: map[string][]spooled{}, problems: map[string][]catalog.Problem{},
		lines: appender{out: lines}, data: appender{out: data},
	}
	for _, source := range sources {
		visitor := catalog.Visitor{Object: func(one catalog.Located) error { return errors.Join(ctx.Err(), b.keep(one)) }, Problem: b.problem}
		if err := catalog.Stream(source, visitor); err != nil {
			return err
		}
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return b.write(ctx)
}

func (b *builder) problem(one catalog.Problem) {
	b.problems[one.Package] = append(b.problems[one.Package], one)
}

// keep adds an object to the spool, as one line.
func (b *builder) keep(one catalog.Located) error {
	var line bytes.Buffer
	if err := json.Compact(&line, one.Raw); err != nil {
		return err
	}
	line.WriteByte('\n')
	kept, err := b.spool.add(line.Bytes())
	b.objects[one.Package] = append(b.objects[one.Package], spooled{one.At, kept})
	return err
}

func (b *builder) write(ctx context.Context) error {
	for name := range b.problems {
		if _, ok := b.objects[name]; !ok {
			b.objects[name] = nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.objects)) {
		if err := errors.Join(ctx.Err(), b.addPackage(name)); err != nil {
			return err
		}
	}
	b.Size = b.lines.at
	var err error
	if b.Keys, err = b.data.add(newKeyTable(b.keys)); err != nil {
		return err
	}
	content, err := json.Marshal(b.index)
	if err != nil {
		return err
	}
	at, err := b.data.add(content)
	if err != nil {
		return err
	}
	_, err = b.data.add(footer(at))
	return err
}

// addPackage checks the objects of a package, and adds them if it has no problems.
func (b *builder) addPackage(name string) error {
	objects := make([]catalog.Located, 0, len(b.objects[name]))
	for _, one := range b.objects[name] {
		raw, err := one.line.load(b.from)
		if err != nil {
			return err
		}
		objects = append(objects, catalog.Located{At: one.at, Raw: raw})
	}
	c := catalog.New(objects, b.problems[name])
	c.Check()
	if name == "" || len(c.Packages) == 0 {
		b.Problems = append(b.Problems, c.AllProblems()...)
		return b.addOthers(name, objects)
	}
	p := c.Packages[0]
	made := record{Name: p.Name, DefaultChannel: p.DefaultChannel}
	for _, one := range p.Bundles {
		if len(p.Problems) > 0 {
			break
		}
		if err := b.addBundle(&made, p, one); err != nil {
			return err
		}
	}
	if len(p.Problems) > 0 {
		b.Problems = append(b.Problems, p.Problems...)
		b.LeftOut = append(b.LeftOut, name)
		return nil
	}
	made.describe(p)
	return b.addRecord(made, objects)
}

// addOthers adds objects without a package that can be installed.
func (b *builder) addOthers(name string, objects []catalog.Located) error {
	if len(objects) == 0 {
		return nil
	}
	lines, metas, err := b.addLines(objects)
	b.Packages = append(b.Packages, packageEntry{Name: name, Lines: lines, Metas: metas})
	return err
}

// addBundle adds the message of a bundle. A message that cannot be made is a problem of the package.
func (b *builder) addBundle(made *record, p *catalog.Package, one *catalog.Bundle) error {
	short, rest, err := messages(p, one)
	if err != nil {
		p.Problems = append(p.Problems, catalog.Problem{At: one.Place(), Package: p.Name, Message: err.Error()})
		return nil
	}
	added := bundleRecord{Name: one.Name}
	for _, kind := range short.GetProvidedApis() {
		added.Provides = append(added.Provides, schema.GroupVersionKind{Group: kind.GetGroup(), Version: kind.GetVersion(), Kind: kind.GetKind()})
	}
	if added.Short, err = b.addMessage(short); err != nil {
		return err
	}
	added.Rest, err = b.addMessage(rest)
	made.Bundles = append(made.Bundles, added)
	return err
}

func (b *builder) addMessage(message *registry.Bundle) (span, error) {
	content, err := proto.Marshal(message)
	if err != nil {
		return span{}, err
	}
	return b.data.add(content)
}

// describe adds the channels and deprecations of a package, which has no problems.
func (r *record) describe(p *catalog.Package) {
	for _, c := range p.Channels {
		r.Channels = append(r.Channels, channelRecord{Name: c.Name, Head: c.Heads()[0], Entries: c.Entries})
	}
	slices.SortFunc(r.Channels, func(a, b channelRecord) int { return strings.Compare(a.Name, b.Name) })
	for _, one := range p.Deprecations {
		switch channel, bundle := r.channel(one.Reference.Name), r.bundle(one.Reference.Name); {
		case one.Reference.Schema == "olm.package":
			r.Deprecated = one.Message
		case one.Reference.Schema == "olm.channel" && channel != nil:
			channel.Deprecated = one.Message
		case one.Reference.Schema == "olm.bundle" && bundle != nil:
			bundle.Deprecated = one.Message
		}
	}
}

// addRecord adds the lines of a package, its record, and its keys.
func (b *builder) addRecord(made record, objects []catalog.Located) error {
	lines, metas, err := b.addLines(objects)
	if err != nil {
		return err
	}
	made.Metas = metas
	content, err := json.Marshal(made)
	if err != nil {
		return err
	}
	at, err := b.data.add(content)
	if err != nil {
		return err
	}
	position := uint32(len(b.Packages))
	own := slices.IndexFunc(metas, func(m meta) bool { return m.Schema == packageProperty })
	b.Packages = append(b.Packages, packageEntry{Name: made.Name, Record: &at, Lines: lines, Own: &metas[own]})
	b.Bundles += len(made.Bundles)
	for _, channel := range made.Channels {
		for _, entry := range channel.Entries {
			for _, older := range append([]string{entry.Replaces}, entry.Skips...) {
				if older != "" {
					b.keys = append(b.keys, key{replacesKey(older), position})
				}
			}
		}
	}
	for _, bundle := range made.Bundles {
		for _, kind := range bundle.Provides {
			b.keys = append(b.keys, key{providesKey(kind), position})
		}
	}
	return nil
}

// addLines adds objects to the JSON lines.
func (b *builder) addLines(objects []catalog.Located) (span, []meta, error) {
	var all bytes.Buffer
	var metas []meta
	begin := b.lines.at
	for _, one := range objects {
		var named struct{ Schema, Name string }
		if err := json.Unmarshal(one.Raw, &named); err != nil {
			return span{}, nil, err
		}
		line := appender{out: &all, at: begin + int64(all.Len())}
		at, err := line.add(one.Raw)
		if err != nil {
			return span{}, nil, err
		}
		metas = append(metas, meta{named.Schema, named.Name, at})
	}
	whole, err := b.lines.add(all.Bytes())
	return whole, metas, err
}
