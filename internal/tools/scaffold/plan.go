package scaffold

import (
	"bytes"
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

// Plan holds the files that a command is about to write.
type Plan struct {
	// Next lists commands with which an author may continue.
	Next []string

	dir   string
	files map[string]file
}

// file is the planned content of one file.
type file struct {
	content []byte
	fresh   bool
	// was is the content of a changed file when it was planned.
	was []byte
}

func newPlan(dir string) *Plan { return &Plan{dir: dir, files: map[string]file{}} }

// Dir returns the absolute path of the project's directory.
func (p *Plan) Dir() string { return p.dir }

// Paths returns the files that are written, relative to the directory, in order.
func (p *Plan) Paths() []string { return slices.Sorted(maps.Keys(p.files)) }

// Creates reports whether path is a new file rather than a changed one.
func (p *Plan) Creates(path string) bool {
	_, err := os.Lstat(p.place(path))
	return errors.Is(err, fs.ErrNotExist)
}

// create plans a file that must not exist yet.
func (p *Plan) create(path string, content []byte) {
	p.files[path] = file{content: content, fresh: true}
}

// write plans a file, whatever its current content is.
func (p *Plan) write(path string, content []byte) {
	before, planned := p.files[path]
	if !planned || before.fresh {
		before.was, _ = os.ReadFile(p.place(path)) // nil if it does not exist, which Apply compares
	}
	p.files[path] = file{content: content, was: before.was}
}

// change plans other content of a file. A file that is created is still created.
func (p *Plan) change(path string, content []byte) {
	if p.files[path].fresh {
		p.create(path, content)
		return
	}
	p.write(path, content)
}

// read returns the content that path will have.
func (p *Plan) read(path string) ([]byte, error) {
	if planned, ok := p.files[path]; ok {
		return planned.content, nil
	}
	return os.ReadFile(p.place(path))
}

func (p *Plan) place(path string) string { return filepath.Join(p.dir, filepath.FromSlash(path)) }

// check returns an error if a file that is to be created exists.
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

// set returns the plan as changes of an existing directory.
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

// Apply writes all files and returns those that changed. On an error, or if ctx is canceled first, it restores everything,
// and removes the directory if it did not exist before.
func (p *Plan) Apply(ctx context.Context) ([]string, error) {
	made, err := makeFolder(p.dir)
	if err != nil {
		return nil, err
	}
	changed, err := p.apply(ctx)
	if err != nil {
		for i := len(made) - 1; i >= 0; i-- {
			_ = os.Remove(made[i]) // another client uses a directory that is not empty
		}
	}
	return changed, err
}

func (p *Plan) apply(ctx context.Context) ([]string, error) {
	set, err := p.set()
	if err != nil {
		return nil, err
	}
	for _, path := range p.Paths() {
		if now, _ := os.ReadFile(p.place(path)); !p.files[path].fresh && !bytes.Equal(now, p.files[path].was) { // an error is that of a file that is missing
			return nil, fmt.Errorf("nothing was written: %s was changed in the meantime; run the command again", path)
		}
	}
	return set.Apply(ctx)
}

// makeFolder creates dir and returns the directories that were missing, the outermost first.
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

// longest is the maximum number of lines shown of a new file, so that go.sum does not hide the rest.
const longest = 250

// Preview shows all files: the content of new ones, and a diff of changed ones.
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
