package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/changes"
)

// Plan is what a command is about to write.
type Plan struct {
	// Next are commands that an author would continue with.
	Next []string

	dir   string
	files map[string]file
}

// file is what one file is to hold.
type file struct {
	content []byte
	fresh   bool
}

func newPlan(dir string) *Plan { return &Plan{dir: dir, files: map[string]file{}} }

// Dir is the project's directory, absolute.
func (p *Plan) Dir() string { return p.dir }

// Paths are the files that are written, relative to the directory, in order.
func (p *Plan) Paths() []string { return slices.Sorted(maps.Keys(p.files)) }

// Creates reports whether path is a new file, and not a changed one.
func (p *Plan) Creates(path string) bool {
	_, err := os.Lstat(p.place(path))
	return errors.Is(err, fs.ErrNotExist)
}

// create plans a file that must not be there yet.
func (p *Plan) create(path string, content []byte) { p.files[path] = file{content, true} }

// write plans a file whatever it holds now.
func (p *Plan) write(path string, content []byte) { p.files[path] = file{content, false} }

// read is what path will hold.
func (p *Plan) read(path string) ([]byte, error) {
	if planned, ok := p.files[path]; ok {
		return planned.content, nil
	}
	return os.ReadFile(p.place(path))
}

func (p *Plan) place(path string) string { return filepath.Join(p.dir, filepath.FromSlash(path)) }

// check reports whether files that are to be created are there.
func (p *Plan) check() error {
	info, err := os.Stat(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file: name another directory", p.dir)
	}
	if err == nil {
		_, err = p.set()
	}
	return err
}

// set is the plan as changes of a directory that is there.
func (p *Plan) set() (*changes.Set, error) {
	set, err := changes.In(p.dir)
	if err != nil {
		return nil, err
	}
	for path, file := range p.files {
		if file.fresh {
			set.Create(path, file.content)
			continue
		}
		set.Write(path, file.content)
	}
	_, err = set.Stale()
	return set, err
}

// Apply writes all files and returns those that changed. On an error, or when ctx ends first,
// everything is as it was, also the directory, if it was not there.
func (p *Plan) Apply(ctx context.Context) ([]string, error) {
	made, err := makeFolder(p.dir)
	if err != nil {
		return nil, err
	}
	changed, err := p.apply(ctx)
	if err != nil {
		for i := len(made) - 1; i >= 0; i-- {
			_ = os.Remove(made[i]) // what is not empty, another client uses
		}
	}
	return changed, err
}

func (p *Plan) apply(ctx context.Context) ([]string, error) {
	set, err := p.set()
	if err != nil {
		return nil, err
	}
	return set.Apply(ctx)
}

// makeFolder makes dir and returns the directories that were missing, the outermost first.
func makeFolder(dir string) ([]string, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name another directory", dir)
	}
	if err == nil {
		return nil, nil
	}
	above, err := makeFolder(filepath.Dir(dir))
	if err != nil {
		return above, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return above, fmt.Errorf("nothing was written: %w", err)
	}
	return append(above, dir), nil
}

// longest is how many lines of a new file are shown, so that go.sum does not hide the rest.
const longest = 250

// Preview shows all files: new ones as they will be, changed ones as a diff.
func (p *Plan) Preview() (string, error) {
	var all strings.Builder
	changed := newPlan(p.dir)
	for _, path := range p.Paths() {
		if !p.Creates(path) {
			changed.write(path, p.files[path].content)
			continue
		}
		content := string(p.files[path].content)
		if lines := strings.Count(content, "\n"); lines > longest {
			content = fmt.Sprintf("… %d lines\n", lines)
		}
		fmt.Fprintf(&all, "==> %s (new)\n%s\n", path, content)
	}
	if len(changed.files) == 0 {
		return all.String(), nil
	}
	set, err := changed.set()
	if err != nil {
		return "", err
	}
	diff, err := set.Diff()
	return all.String() + diff, err
}
