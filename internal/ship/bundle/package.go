package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// packageSuffix is the end of the name of the file that describes a package in the older layout.
const packageSuffix = ".package.yaml"

// describes reports whether a file with a name describes a package. Few packages have just package.yaml, or a hyphen before it.
func describes(name string) bool {
	return name == packageSuffix[1:] || strings.HasSuffix(name, packageSuffix) || strings.HasSuffix(name, "-"+packageSuffix[1:])
}

// Package is a directory in the older layout: a file with channels, and a directory for each version.
type Package struct {
	// Dir is the directory as passed by the caller.
	Dir            string
	Name           string
	DefaultChannel string
	Channels       []Channel
	// Bundles are the versions, in the order of their directories.
	Bundles []*Bundle
	// Problems are the reasons why the package could not be read, or not completely. Each bundle has its own problems.
	Problems []Problem
}

// Channel is a stream of versions.
type Channel struct {
	// Name is the name of the channel, and Head the name of the CSV that it offers.
	Name, Head string

	at rule.Place
}

// ReadPackage reads a package in the older layout. It fails if the directory cannot be read, or is not a package. All other errors are
// added to the Problems of the package and of its Bundles.
func ReadPackage(dir string) (*Package, error) {
	p, versions, err := DescribePackage(dir)
	if err != nil {
		return nil, err
	}
	for _, at := range versions {
		bundle, err := p.Read(at)
		if err != nil {
			return nil, err
		}
		p.Bundles = append(p.Bundles, bundle)
	}
	return p, nil
}

// DescribePackage reads the description of a package in the older layout, without its Bundles, and returns the directories of these. It fails
// if the directory cannot be read, or is not a package.
func DescribePackage(dir string) (p *Package, versions []string, err error) {
	root, err := open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	described, err := descriptions(root.FS())
	if err != nil {
		return nil, nil, err
	}
	if len(described) != 1 {
		return nil, nil, fmt.Errorf("%s has %d files *%s, want 1", dir, len(described), packageSuffix)
	}
	r := &reader{Bundle: &Bundle{Dir: dir, metadata: map[string][]byte{}}, files: root.FS()}
	p = &Package{Dir: dir}
	if description := r.yaml(described[0]); description != nil {
		r.readPackage(p, described[0], description)
	}
	p.Problems = r.Problems
	versions, err = versionsIn(dir, root.FS())
	return p, versions, err
}

// Read reads a version of the package in a directory.
func (p *Package) Read(dir string) (*Bundle, error) {
	bundle, err := Read(dir)
	if err == nil && !bundle.Registry() {
		bundle.Package = p.Name
	}
	return bundle, err
}

// descriptions returns the files that describe a package.
func descriptions(files fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && describes(e.Name()) {
			found = append(found, e.Name())
		}
	}
	return found, nil
}

// readPackage reads the file that describes a package.
func (r *reader) readPackage(p *Package, file string, root *yamlv3.Node) {
	text := func(mapping *yamlv3.Node, name string) string {
		_, value := entry(mapping, name)
		if value == nil {
			return ""
		}
		return value.Value
	}
	p.Name, p.DefaultChannel = text(root, "packageName"), text(root, "defaultChannel")
	if p.Name == "" {
		r.problem(r.place(file), root.Line, "packageName is missing")
	}
	_, channels := entry(root, "channels")
	if channels == nil || channels.Kind != yamlv3.SequenceNode {
		r.problem(r.place(file), root.Line, "want channels, a list")
		return
	}
	for _, node := range channels.Content {
		channel := Channel{Name: text(node, "name"), Head: text(node, "currentCSV"), at: rule.Place{File: r.place(file), Line: node.Line, Column: node.Column}}
		if channel.Name == "" || channel.Head == "" {
			r.problem(r.place(file), node.Line, "a channel needs name and currentCSV")
			continue
		}
		p.Channels = append(p.Channels, channel)
	}
}

// versionsIn returns the directories of the versions in the directory of a package.
func versionsIn(dir string, files fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, entry := range entries {
		if entry.IsDir() && isBundle(files, entry.Name()) {
			all = append(all, filepath.Join(dir, entry.Name()))
		}
	}
	return all, nil
}

// Bundle returns the version with a CSV of this name, or nil.
func (p *Package) Bundle(name string) *Bundle {
	i := slices.IndexFunc(p.Bundles, func(b *Bundle) bool { return b.CSV != nil && b.CSV.Name == name })
	if i < 0 {
		return nil
	}
	return p.Bundles[i]
}

// Chain returns the versions of a channel, from its head along replaces. It ends at a version that replaces no version, a version outside
// of the package, or a version in the chain.
func (p *Package) Chain(channel Channel) []*Bundle {
	var chain []*Bundle
	for name := channel.Head; name != ""; {
		next := p.Bundle(name)
		if next == nil || slices.Contains(chain, next) {
			break
		}
		chain = append(chain, next)
		name = next.CSV.Spec.Replaces
	}
	return chain
}

// Open reads all bundles below a directory. In a package, they have the channels that lead to them; others are left out. It fails if one
// of them cannot be read.
func Open(dir string) ([]*Bundle, error) {
	found, err := Find(dir)
	if err != nil {
		return nil, err
	}
	var all []*Bundle
	var problems []error
	for _, at := range found.Bundles {
		b, err := Read(at)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	for _, at := range found.Packages {
		p, err := ReadPackage(at)
		if err != nil {
			return nil, err
		}
		problems = append(problems, asErrors(p.Problems)...)
		channels := p.ChannelsByCSV()
		for _, b := range p.Bundles {
			if b.CSV == nil || len(channels[b.CSV.Name]) > 0 {
				if b.CSV != nil {
					b.Channels, b.DefaultChannel = channels[b.CSV.Name], p.DefaultChannel
				}
				all = append(all, b)
			}
		}
	}
	for _, b := range all {
		problems = append(problems, asErrors(b.Problems)...)
	}
	return all, errors.Join(problems...)
}

// Found is the result of Find.
type Found struct {
	// Bundles and Packages are directories.
	Bundles, Packages []string
}

// Find finds the bundles and packages in a directory, or the directory itself. It fails if there are none.
func Find(dir string) (*Found, error) {
	found := &Found{}
	err := found.add(dir, func(_ string, err error) error { return err })
	return found, err
}

// Search is like Find for several directories. It continues after errors, which it passes to problem with the directory.
func Search(dirs []string, problem func(dir string, err error)) *Found {
	found := &Found{}
	for _, dir := range dirs {
		at := dir
		if led, err := filepath.EvalSymlinks(dir); err == nil && led != filepath.Clean(dir) {
			at = led // a walk does not follow links
		}
		if err := found.add(at, func(at string, err error) error { problem(at, err); return nil }); err != nil {
			problem(dir, err)
		}
	}
	for _, list := range []*[]string{&found.Bundles, &found.Packages} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return found
}

// add adds the bundles and packages in a directory. failed decides whether the walk ends at a directory that cannot be read.
func (f *Found) add(dir string, failed func(at string, err error) error) error {
	before := len(f.Bundles) + len(f.Packages)
	err := filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil && at == dir {
			return unreadable(at, err)
		}
		if err != nil {
			return failed(at, unreadable(at, err))
		}
		if !entry.IsDir() {
			return nil
		}
		if at != dir && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		root, err := open(at)
		if err != nil {
			if err := failed(at, err); err != nil {
				return err
			}
			return fs.SkipDir
		}
		defer root.Close()
		if described, err := descriptions(root.FS()); err == nil && len(described) > 0 {
			f.Packages = append(f.Packages, at)
			return fs.SkipDir
		}
		if isBundle(root.FS(), ".") {
			f.Bundles = append(f.Bundles, at)
			return fs.SkipDir
		}
		return nil
	})
	if err == nil && len(f.Bundles)+len(f.Packages) == before {
		return fmt.Errorf("%s has no bundle in it: want a directory with %s/ and %s, or with a CSV", dir, manifestsDir, annotationsFile)
	}
	return err
}

// isBundle reports whether a directory is a bundle in either layout.
func isBundle(files fs.FS, dir string) bool {
	if exists(files, path.Join(dir, annotationsFile)) || hasCSV(files, path.Join(dir, manifestsDir)) {
		return true
	}
	return hasCSV(files, dir)
}

// hasCSV reports whether a file in a directory looks like a CSV.
func hasCSV(files fs.FS, dir string) bool {
	entries, err := fs.ReadDir(files, dir)
	if err != nil || len(entries) > maxFiles {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if e.IsDir() || !isManifest(e.Name()) {
			return false
		}
		return mentionsCSV(files, path.Join(dir, e.Name()))
	})
}

func mentionsCSV(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileSize {
		return false
	}
	content, err := fs.ReadFile(files, name)
	return err == nil && bytes.Contains(content, []byte(csvKind))
}
