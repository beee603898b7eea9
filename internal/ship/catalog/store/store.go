package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/operon-framework/operon/internal/ship/catalog"
)

// ErrNotFound is the error of a query for something that the catalog does not have.
var ErrNotFound = errors.New("not found")

// Store is an open cache. Its methods can be called at the same time, except for Close.
type Store struct {
	index
	keys        keyTable
	lines, data *os.File
	sources     []string
	fingerprint string
}

// readIndex reads what is kept in memory.
func (s *Store) readIndex(of string) error {
	info, err := s.data.Stat()
	if err != nil {
		return err
	}
	read, err := readIndex(s.data, info.Size())
	if err != nil {
		return err
	}
	lines, err := s.lines.Stat()
	if err != nil {
		return err
	}
	if lines.Size() != read.Size || read.Digest != of {
		return fmt.Errorf("%w: its two files do not belong together", ErrCorrupt)
	}
	s.index = *read
	s.keys, err = s.Keys.load(s.data)
	return err
}

// Close closes the files of the store. No query may be running.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	var failed error
	for _, file := range []*os.File{s.lines, s.data} {
		if file != nil {
			failed = errors.Join(failed, file.Close())
		}
	}
	return failed
}

// Changed reports whether the files of the catalog are others than those of which the store was built.
func (s *Store) Changed() (bool, error) {
	now, _, err := fingerprint(s.sources)
	return now != s.fingerprint, err
}

// Fingerprint returns a text that changes whenever a file of the catalog is written, moved or removed.
func Fingerprint(sources []string) (string, error) {
	now, _, err := fingerprint(sources)
	return now, err
}

// Problems returns what is wrong with the catalog, with packages that are left out because of it.
func (s *Store) Problems() []catalog.Problem { return s.index.Problems }

// LeftOut returns the names of packages that are left out because of problems, sorted.
func (s *Store) LeftOut() []string { return s.index.LeftOut }

// Size returns the number of packages and of bundles.
func (s *Store) Size() (packages, bundles int) { return len(s.PackageNames()), s.Bundles }

// Digest identifies the content of the catalog, and Modified is when its newest file was modified.
func (s *Store) Digest() string { return s.index.Digest }

// Modified returns the time when the newest file of the catalog was modified.
func (s *Store) Modified() time.Time { return s.index.Modified }

// PackageNames returns the names of the packages, sorted.
func (s *Store) PackageNames() []string {
	var names []string
	for _, one := range s.Packages {
		if one.Record != nil {
			names = append(names, one.Name)
		}
	}
	return names
}

// LinesSize returns the size of what WriteLines writes for the whole catalog, in bytes.
func (s *Store) LinesSize() int64 { return s.index.Size }

// Filter selects objects. An empty field selects all.
type Filter struct{ Schema, Package, Name string }

// WriteLines writes objects of the catalog as JSON lines. If it fails with ErrCorrupt, discard what was written.
func (s *Store) WriteLines(out io.Writer, f Filter) error {
	for _, one := range s.Packages {
		if f.Package != "" && one.Name != f.Package {
			continue
		}
		if err := s.writePackage(out, one, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) writePackage(out io.Writer, one packageEntry, f Filter) error {
	if f == (Filter{}) {
		return one.Lines.copyTo(out, s.lines)
	}
	metas := one.Metas
	switch {
	case one.Own != nil && f.Schema == one.Own.Schema:
		metas = []meta{*one.Own}
	case one.Record != nil:
		r, err := s.record(one)
		if err != nil {
			return err
		}
		metas = r.Metas
	}
	for _, m := range metas {
		// An object of schema olm.package has no field package.
		if f.Schema != "" && m.Schema != f.Schema || f.Name != "" && m.Name != f.Name || f.Package != "" && m.Schema == packageProperty {
			continue
		}
		if err := m.Line.copyTo(out, s.lines); err != nil {
			return err
		}
	}
	return nil
}
