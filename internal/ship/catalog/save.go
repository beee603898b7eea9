package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/operon-framework/operon/internal/tools/changes"
)

// othersFile is the name, without its extension, of the file with objects of other schemas that belong to no package.
const othersFile = "others"

// Save writes the catalog to a directory: a directory for each package, with a file catalog.yaml or catalog.json. Packages that the
// catalog does not have stay. Of a file that is replaced, in either format, the objects with other schemas stay, and the deprecations of what
// the package still has. It fails if such a file cannot be read or has another package, and if a package is also in a file that stays.
func (c *Catalog) Save(ctx context.Context, dir, format string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	set, err := changes.In(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	s := &saver{dir: dir, format: format, files: root.FS(), set: set}
	elsewhere := func(one Located) error {
		own := filepath.ToSlash(filepath.Join(dir, one.Package, "catalog."))
		if c.Package(one.Package) == nil || !slices.Contains(schemas[:3], one.Schema) || slices.Contains([]string{own + YAML, own + JSON}, one.At.File) {
			return nil
		}
		return fmt.Errorf("%s: the package %s would also be in %s: move the object there, or remove it", one.At, one.Package, own+format)
	}
	if err := (&reader{dir: dir, files: s.files, visitor: &Visitor{Object: elsewhere, Problem: func(Problem) {}}}).walk(); err != nil {
		return err
	}
	for _, p := range c.Packages {
		var content bytes.Buffer
		old, err := s.replace(path.Join(p.Name, "catalog"), p.Name)
		if err != nil {
			return err
		}
		if err := p.with(old.Package(p.Name)).Write(&content, format); err != nil {
			return err
		}
		if err := writeOthers(&content, format, p.Name, c.Others, old.Others); err != nil {
			return err
		}
		set.Write(path.Join(p.Name, "catalog."+format), content.Bytes())
	}
	if err := s.others(c); err != nil {
		return err
	}
	_, err = set.Apply(ctx)
	return err
}

// saver is the state of one Save.
type saver struct {
	dir, format string
	files       fs.FS
	set         *changes.Set
}

// replace returns what a file of a package, or of none, has in either format, and removes the one of the other format.
func (s *saver) replace(name, of string) (*Catalog, error) {
	r := &reader{dir: s.dir, files: s.files, catalog: &Catalog{}, packages: map[string]*Package{}}
	for _, format := range []string{YAML, JSON} {
		file := name + "." + format
		if err := r.file(file); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		if format != s.format {
			s.set.Remove(file)
		}
	}
	r.finish()
	var problems []error
	for _, one := range r.catalog.AllProblems() {
		problems = append(problems, one)
	}
	for _, one := range r.catalog.Packages {
		if one.Name != of {
			problems = append(problems, fmt.Errorf("%s.* is replaced, and has the package %s, too: move it to another file", filepath.Join(s.dir, name), one.Name))
		}
	}
	for i := range r.catalog.Others {
		r.catalog.Others[i].Package = of // wherever it belongs, it stays in the file
	}
	return r.catalog, errors.Join(problems...)
}

// with returns a package with the deprecations of an older one that are of something that it still has, and that it does not have itself.
func (p *Package) with(old *Package) *Package {
	if old == nil {
		return p
	}
	made := *p
	made.Deprecations = slices.Clone(p.Deprecations)
	for _, one := range old.Deprecations {
		if p.knows(one.Reference) && !slices.ContainsFunc(p.Deprecations, func(o Deprecation) bool { return o.Reference == one.Reference }) {
			made.Deprecations = append(made.Deprecations, one)
		}
	}
	return &made
}

// others writes the objects of packages that the catalog does not have, and of none, to a file of their own.
func (s *saver) others(c *Catalog) error {
	var own []Object
	for _, one := range c.Others {
		if c.Package(one.Package) == nil {
			own = append(own, Object{Raw: one.Raw})
		}
	}
	if len(own) == 0 {
		return nil
	}
	old, err := s.replace(othersFile, "")
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := writeOthers(&content, s.format, "", own, old.Others); err != nil {
		return err
	}
	s.set.Write(othersFile+"."+s.format, content.Bytes())
	return nil
}

// writeOthers writes the objects of a package with other schemas, each once.
func writeOthers(out *bytes.Buffer, format, name string, lists ...[]Object) error {
	var written [][]byte
	for _, one := range slices.Concat(lists...) {
		text := compactJSON(one.Raw)
		if one.Package != name || slices.ContainsFunc(written, func(o []byte) bool { return bytes.Equal(o, text) }) {
			continue
		}
		written = append(written, text)
		if err := writeObject(out, format, one.Raw); err != nil {
			return err
		}
	}
	return nil
}
