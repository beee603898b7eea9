// Package changes writes files to a directory: all of them or none. Commands that scaffold or generate use it, so that a
// failed run leaves the directory unchanged.
//
// A [Set] collects the wanted contents of files and changes nothing. [Set.Stale] and [Set.Diff] report what would change, and
// [Set.Apply] changes it: it records the previous contents in Operon's state directory ([local.Home]) and then replaces one
// file after the other. An error or an interruption restores everything. After kill -9, the next Set for the directory
// restores it. A file that has the wanted content already is never written, so that its modification time does not change.
//
// Links are followed only inside the directory. Nothing that a repository contains, neither links nor lists of changes, makes
// a Set change files outside the directory.
package changes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Set holds the wanted contents of files below one directory.
type Set struct {
	dir    string
	wanted map[string]content
}

// content is the wanted content of one file. If bytes is nil, the file must not exist.
type content struct {
	bytes []byte
	fresh bool // the file must not exist yet
}

// In returns an empty set for dir, which must exist. If an earlier run was killed while it wrote to dir, its changes are
// undone first.
//
// It fails if another process is writing to dir.
func In(dir string) (*Set, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Set{dir: absolute, wanted: map[string]content{}}, recoverFrom(absolute)
}

// Write sets the wanted content of the file at path, whatever its current content is. The path is relative to the directory
// and uses slashes.
func (s *Set) Write(path string, holds []byte) { s.wanted[clean(path)] = content{bytes: nonNil(holds)} }

// Create is like Write, for a file that must not exist yet. If it exists, Apply fails and changes nothing.
func (s *Set) Create(path string, holds []byte) {
	s.wanted[clean(path)] = content{bytes: nonNil(holds), fresh: true}
}

// Remove marks the file at path for removal.
func (s *Set) Remove(path string) { s.wanted[clean(path)] = content{} }

// Paths returns the paths of all files in the set, in order.
func (s *Set) Paths() []string { return slices.Sorted(maps.Keys(s.wanted)) }

// Content returns the wanted content of the file at path. It returns false if the set has no content for it.
func (s *Set) Content(path string) ([]byte, bool) {
	wanted, ok := s.wanted[clean(path)]
	return wanted.bytes, ok && wanted.bytes != nil
}

// Stale returns the files that do not have the wanted content, in order.
//
// It fails for each path that leads out of the directory (also through a link), each file to create that already exists, and
// each file that cannot be read.
func (s *Set) Stale() ([]string, error) {
	var stale []string
	var problems []error
	for _, path := range s.Paths() {
		differs, err := s.differs(path)
		problems = append(problems, err)
		if differs {
			stale = append(stale, path)
		}
	}
	return stale, errors.Join(problems...)
}

func (s *Set) differs(path string) (bool, error) {
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return false, fmt.Errorf("%s leads out of %s", path, s.dir)
	}
	wanted := s.wanted[path]
	now, err := s.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return wanted.bytes != nil, nil
	}
	if err != nil {
		return false, err
	}
	if wanted.fresh {
		return false, fmt.Errorf("%s already exists and is not overwritten: move it, or choose another name", s.file(path))
	}
	return wanted.bytes == nil || !bytes.Equal(now, wanted.bytes), nil
}

// Diff returns the changes that Apply would make as a unified diff, or "" if there are none.
func (s *Set) Diff() (string, error) {
	stale, err := s.Stale()
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, path := range stale {
		now, err := s.read(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := difflib.WriteUnifiedDiff(&all, s.diff(path, now, err == nil)); err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

func (s *Set) diff(path string, now []byte, there bool) difflib.UnifiedDiff {
	from, to := "a/"+path, "b/"+path
	if !there {
		from = os.DevNull
	}
	wanted := s.wanted[path].bytes
	if wanted == nil {
		to = os.DevNull
	}
	return difflib.UnifiedDiff{A: lines(now), B: lines(wanted), FromFile: from, ToFile: to, Context: 3}
}

// lines splits a text for difflib: each line keeps its line ending.
func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	if last := len(all) - 1; all[last] == "" {
		return all[:last]
	}
	all[len(all)-1] += "\n\\ No newline at end of file\n"
	return all
}

// read returns the content of a file in the directory.
func (s *Set) read(path string) ([]byte, error) {
	target, err := s.follow(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(target)
}

// follow resolves the links in the existing part of a path, relative to the directory. It fails for links that lead out of
// the directory.
func (s *Set) follow(path string) (string, error) {
	led, err := filepath.EvalSymlinks(s.file(path))
	if errors.Is(err, fs.ErrNotExist) && path != "." {
		parent, err := s.follow(filepath.ToSlash(filepath.Dir(filepath.FromSlash(path))))
		return filepath.ToSlash(filepath.Join(parent, filepath.Base(path))), err
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.file(path), err)
	}
	inside, err := filepath.Rel(real(s.dir), led)
	if err != nil || !filepath.IsLocal(inside) {
		return "", fmt.Errorf("%s is a link to %s, outside of %s: remove the link, or write to another path", path, led, s.dir)
	}
	return filepath.ToSlash(inside), nil
}

func (s *Set) file(path string) string { return filepath.Join(s.dir, filepath.FromSlash(path)) }

func clean(path string) string { return filepath.ToSlash(filepath.Clean(filepath.FromSlash(path))) }

// nonNil distinguishes an empty file from a file to remove.
func nonNil(holds []byte) []byte {
	if holds == nil {
		return []byte{}
	}
	return holds
}
