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
	"regexp"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/local"
)

// Directories of a bundle whose files follow from the project, or are kept.
const (
	manifestsDir = "manifests"
	testsDir     = "tests/scorecard"
)

// checkTarget reads the directory of the bundle, which can hold an earlier bundle. Unless the caller allows it, files that Operon did not
// write there are not replaced: the directory must be empty, new, or a bundle of the same package that Operon made.
func (m *maker) checkTarget() error {
	target, err := filepath.EvalSymlinks(m.result.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if m.target, err = filepath.Abs(cmp.Or(target, m.result.Dir)); err != nil {
		return err
	}
	if err := m.restore(); err != nil {
		return err
	}
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
		root, err := os.OpenRoot(from.Dir)
		if err != nil {
			continue
		}
		info, err := root.Stat(testsDir)
		root.Close()
		if err == nil && info.IsDir() {
			return from
		}
	}
	return nil
}

// unfinished matches what follows the hidden name of a bundle in the names of new directories and of those that they replace.
var unfinished = regexp.MustCompile(`^-[0-9]+\.part(\.old)?$`)

// restore restores the bundle if a run was killed while it replaced it, and removes what killed runs left beside it.
func (m *maker) restore() error {
	parent, hidden := filepath.Dir(m.target), "."+filepath.Base(m.target)
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range slices.Backward(entries) { // an older bundle before the new one that was to replace it
		rest, ours := strings.CutPrefix(entry.Name(), hidden)
		if !ours || !entry.IsDir() || !unfinished.MatchString(rest) {
			continue
		}
		if err := m.tidy(filepath.Join(parent, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tidy removes a directory that a killed run left, or renames it to the bundle if that is missing.
func (m *maker) tidy(left string) error {
	staged, old := strings.CutSuffix(left, ".old")
	_, err := os.Lstat(m.target)
	missing := errors.Is(err, fs.ErrNotExist)
	lock, err := local.TryLockFolder(staged)
	switch {
	case errors.Is(err, local.ErrLocked) && old && missing:
		return fmt.Errorf("another process replaces %s: wait for its end", m.target)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil // its run may not be finished
	case err == nil:
		defer lock.Unlock()
	}
	if old && missing {
		return os.Rename(left, m.target)
	}
	return os.RemoveAll(left)
}

// write writes the bundle to a new directory beside its own, and then renames it: the bundle is never there in part. Files that do not
// follow from the project stay, except manifests of an earlier bundle.
func (m *maker) write(ctx context.Context, files map[string][]byte) error {
	m.result.Files = slices.Sorted(maps.Keys(files))
	if err := os.MkdirAll(filepath.Dir(m.target), 0o755); err != nil {
		return err
	}
	staged, err := os.MkdirTemp(filepath.Dir(m.target), "."+filepath.Base(m.target)+"-*.part")
	if err != nil {
		return err
	}
	lock, err := local.TryLockFolder(staged) // other runs must not remove it
	if errors.Is(err, local.ErrLocked) {
		return fmt.Errorf("%s: %w: repeat the command", staged, err)
	}
	if err == nil { // without a lock, other runs leave it alone
		defer lock.Unlock()
	}
	err = m.stage(ctx, staged, files)
	if err == nil {
		err = swap(staged, m.target)
	}
	return errors.Join(err, os.RemoveAll(staged))
}

// stage fills the new directory.
func (m *maker) stage(ctx context.Context, staged string, files map[string][]byte) error {
	if err := os.CopyFS(staged, os.DirFS(m.target)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	root, err := os.OpenRoot(staged) // links must not lead elsewhere
	if err != nil {
		return err
	}
	defer root.Close()
	dirs := []string{manifestsDir, path.Dir(bundle.PropertiesFile)}
	tests := m.testsFrom()
	if tests != nil && tests != m.existing {
		dirs = append(dirs, testsDir)
	}
	for _, dir := range dirs {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("%s: %w: want a directory, not a link that leads out of the bundle", filepath.Join(m.result.Dir, filepath.FromSlash(dir)), err)
		}
	}
	if slices.Contains(dirs, testsDir) {
		if err := os.CopyFS(filepath.Join(staged, filepath.FromSlash(testsDir)), os.DirFS(filepath.Join(tests.Dir, filepath.FromSlash(testsDir)))); err != nil {
			return err
		}
	}
	if err := m.removeManifests(root, files); err != nil {
		return err
	}
	for _, name := range m.result.Files {
		if err := root.RemoveAll(name); err != nil { // also a link to another file of the bundle
			return err
		}
		if err := root.WriteFile(name, files[name], 0o644); err != nil {
			return err
		}
	}
	return cmp.Or(ctx.Err(), os.Chmod(staged, 0o755)) //nolint:gosec // manifests for anyone
}

// removeManifests removes the manifests that the bundle no longer has.
func (m *maker) removeManifests(staged *os.Root, files map[string][]byte) error {
	entries, err := fs.ReadDir(staged.FS(), manifestsDir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(manifestsDir, entry.Name())
		if files[name] != nil || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			continue
		}
		if err := staged.RemoveAll(name); err != nil {
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
	// What is removed in part must not be restored. Another run may have removed it.
	if err := os.Rename(aside, staged); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(staged)
}
