package bundle

import (
	"bytes"
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
	root, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	described, err := fs.Glob(root.FS(), "*"+packageSuffix)
	if err != nil {
		return nil, err
	}
	if len(described) != 1 {
		return nil, fmt.Errorf("%s has %d files *%s, want 1", dir, len(described), packageSuffix)
	}
	r := &reader{Bundle: &Bundle{Dir: dir, metadata: map[string][]byte{}}, files: root.FS()}
	p := &Package{Dir: dir}
	if description := r.yaml(described[0]); description != nil {
		r.readPackage(p, described[0], description)
	}
	p.Problems = r.Problems
	return p, p.readVersions(root.FS())
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

func (p *Package) readVersions(files fs.FS) error {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() || !isBundle(files, entry.Name()) {
			continue
		}
		bundle, err := Read(filepath.Join(p.Dir, entry.Name()))
		if err != nil {
			return err
		}
		if !bundle.Registry() {
			bundle.Package = p.Name
		}
		p.Bundles = append(p.Bundles, bundle)
	}
	return nil
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

// Found is the result of Find.
type Found struct {
	// Bundles and Packages are directories.
	Bundles, Packages []string
}

// Find finds the bundles and packages in a directory, or the directory itself. It fails if there are none.
func Find(dir string) (*Found, error) {
	found := &Found{}
	err := filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unreadable(at, err)
		}
		if !entry.IsDir() {
			return nil
		}
		if at != dir && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		root, err := open(at)
		if err != nil {
			return err
		}
		defer root.Close()
		if described, err := fs.Glob(root.FS(), "*"+packageSuffix); err == nil && len(described) > 0 {
			found.Packages = append(found.Packages, at)
			return fs.SkipDir
		}
		if isBundle(root.FS(), ".") {
			found.Bundles = append(found.Bundles, at)
			return fs.SkipDir
		}
		return nil
	})
	if err == nil && len(found.Bundles)+len(found.Packages) == 0 {
		return nil, fmt.Errorf("%s has no bundle in it: want a directory with %s/ and %s, or with a CSV", dir, manifestsDir, annotationsFile)
	}
	return found, err
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
		info, err := e.Info()
		if err != nil || info.Size() > maxFileSize {
			return false
		}
		content, err := fs.ReadFile(files, path.Join(dir, e.Name()))
		return err == nil && bytes.Contains(content, []byte(csvKind))
	})
}
