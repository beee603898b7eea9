// Package changes writes files to a directory, all or none of them: it is how a command that scaffolds or generates
// keeps its promise that a failed run leaves the tree as it was.
//
// A [Set] collects what files are to hold, and touches nothing. It can say what would change
// ([Set.Stale], [Set.Diff]), and make it so ([Set.Apply]): it records the previous contents in the
// directory of Operon's state ([local.Home]) and then replaces one file after the other. An error or
// an interruption restores everything; after kill -9, the next Set for the directory does. A file
// that holds what it should is never written, so that its modification time stays.
//
// Links are followed only inside of the directory. Nothing that a repository contains, neither links
// nor lists of changes, makes a Set touch files outside of it.
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

// Set is what the files below one folder are to hold.
type Set struct {
	dir    string
	wanted map[string]content
}

// content is what one file is to hold. Nil bytes: it is not to be there.
type content struct {
	bytes []byte
	fresh bool // it must not be there yet
}

// In returns an empty set for dir, which must be there. If a run before was killed while it wrote
// into dir, what it did is undone first.
//
// It fails where another process is writing into dir at this moment.
func In(dir string) (*Set, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Set{dir: absolute, wanted: map[string]content{}}, recoverFrom(absolute)
}

// Write reports that the file at path, relative to the directory and with slashes, is to hold content,
// whatever it holds now.
func (s *Set) Write(path string, holds []byte) { s.wanted[clean(path)] = content{bytes: nonNil(holds)} }

// Create is Write for a file that must not be there yet: if it is, nothing can be applied.
func (s *Set) Create(path string, holds []byte) {
	s.wanted[clean(path)] = content{bytes: nonNil(holds), fresh: true}
}

// Remove reports that there is to be no file at path.
func (s *Set) Remove(path string) { s.wanted[clean(path)] = content{} }

// Paths are the files that the set is about, in order.
func (s *Set) Paths() []string { return slices.Sorted(maps.Keys(s.wanted)) }

// Content is what the file at path is to hold, and whether the set says so.
func (s *Set) Content(path string) ([]byte, bool) {
	wanted, ok := s.wanted[clean(path)]
	return wanted.bytes, ok && wanted.bytes != nil
}

// Stale are the files that do not hold what they should, in order.
//
// It fails for each path that leads out of the directory, also through a link, each that was to be created and is there,
// and each that cannot be read.
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
		return false, fmt.Errorf("%s is there already and is not overwritten: move it away, or choose another name", s.file(path))
	}
	return wanted.bytes == nil || !bytes.Equal(now, wanted.bytes), nil
}

// Diff tells what Apply would change, as a unified diff, "" when that is nothing.
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

// lines splits as difflib wants it, each line with its end.
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

// follow resolves the links in a path as far as it exists, relative to the directory. It fails for links
// that lead out of the directory.
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

// nonNil keeps an empty file apart from one that is not to be.
func nonNil(holds []byte) []byte {
	if holds == nil {
		return []byte{}
	}
	return holds
}
