package create

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/ship/bundle"
)

// Directories of a bundle whose files follow from the project, or are kept.
const (
	manifestsDir = "manifests"
	testsDir     = "tests/scorecard"
)

// checkTarget reads the directory of the bundle, which can hold an earlier bundle. Unless the caller allows it, files that Operon did not
// write there are not replaced: the directory must be empty, new, or a bundle of the same package that Operon made.
func (m *maker) checkTarget() error {
	first, err := firstFile(m.result.Dir)
	if err != nil || first == "" {
		return err
	}
	existing, err := bundle.Read(m.result.Dir)
	if err == nil && existing.Registry() {
		m.existing = existing
	}
	if m.options.Overwrite || m.existing != nil && m.existing.Package == m.result.Package && m.existing.Annotations()[bundle.BuilderKey] == bundle.Builder {
		return nil
	}
	return fmt.Errorf("%s has files that are not of a bundle of the package %s that Operon made, the first one is %s: name another directory with --to, or replace its bundle with --overwrite",
		m.result.Dir, m.result.Package, first)
}

// firstFile returns the first file in or below a directory, in the order of names, or "".
func firstFile(dir string) (string, error) {
	first := ""
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case name == dir && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case name == dir && !entry.IsDir():
			return fmt.Errorf("%s is not a directory: name a directory with --to", dir)
		case entry.IsDir():
			return nil
		}
		first = name
		return fs.SkipAll
	})
	return first, err
}

// keptAnnotations returns the annotations that stay from the bundle in the directory, or else from the previous bundle.
func (m *maker) keptAnnotations() (map[string]string, error) {
	kept := map[string]string{}
	for _, from := range []*bundle.Bundle{m.previous, m.existing} {
		if from != nil {
			maps.Copy(kept, from.Annotations())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		if strings.ContainsFunc(key+kept[key], func(r rune) bool { return r < ' ' }) {
			return nil, fmt.Errorf("the annotation %q in metadata/annotations.yaml of the older bundle has several lines, and a label of an image cannot: shorten it", key)
		}
	}
	return kept, nil
}

// testsFrom returns the older bundle that has tests for the scorecard, or nil.
func (m *maker) testsFrom() *bundle.Bundle {
	for _, from := range []*bundle.Bundle{m.existing, m.previous} {
		if from == nil {
			continue
		}
		if info, err := os.Stat(filepath.Join(from.Dir, filepath.FromSlash(testsDir))); err == nil && info.IsDir() {
			return from
		}
	}
	return nil
}

// write writes the bundle to a new directory beside its own, and then renames it: the bundle is never there in part. Files that do not
// follow from the project stay, except manifests of an earlier bundle.
func (m *maker) write(ctx context.Context, files map[string][]byte) error {
	m.result.Files = slices.Sorted(maps.Keys(files))
	target, err := filepath.EvalSymlinks(m.result.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = m.result.Dir, os.MkdirAll(filepath.Dir(m.result.Dir), 0o755)
	}
	if err != nil {
		return err
	}
	if target, err = filepath.Abs(target); err != nil {
		return err
	}
	staged, err := os.MkdirTemp(filepath.Dir(target), "."+filepath.Base(target)+"-")
	if err != nil {
		return err
	}
	err = m.stage(ctx, target, staged, files)
	if err == nil {
		err = swap(staged, target)
	}
	return errors.Join(err, os.RemoveAll(staged))
}

// stage fills the new directory.
func (m *maker) stage(ctx context.Context, target, staged string, files map[string][]byte) error {
	if err := os.CopyFS(staged, os.DirFS(target)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if tests := m.testsFrom(); tests != nil && tests != m.existing {
		if err := os.CopyFS(filepath.Join(staged, filepath.FromSlash(testsDir)), os.DirFS(filepath.Join(tests.Dir, filepath.FromSlash(testsDir)))); err != nil {
			return err
		}
	}
	if err := m.removeManifests(staged, files); err != nil {
		return err
	}
	for _, name := range m.result.Files {
		at := filepath.Join(staged, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.RemoveAll(at); err != nil { // a link must not lead elsewhere
			return err
		}
		if err := os.WriteFile(at, files[name], 0o644); err != nil { //nolint:gosec // manifests for anyone
			return err
		}
	}
	return cmp.Or(ctx.Err(), os.Chmod(staged, 0o755)) //nolint:gosec // manifests for anyone
}

// removeManifests removes the manifests that the bundle no longer has.
func (m *maker) removeManifests(staged string, files map[string][]byte) error {
	entries, err := os.ReadDir(filepath.Join(staged, manifestsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		name := path.Join(manifestsDir, entry.Name())
		if files[name] != nil || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(staged, filepath.FromSlash(name))); err != nil {
			return err
		}
		m.result.Removed = append(m.result.Removed, name)
	}
	return nil
}

// swap replaces a directory by another one beside it. If that fails, the old one is back.
func swap(staged, target string) error {
	aside := staged + ".old"
	err := os.Rename(target, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Rename(staged, target)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(staged, target); err != nil {
		return errors.Join(err, os.Rename(aside, target))
	}
	return os.RemoveAll(aside)
}
