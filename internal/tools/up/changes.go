package up

import (
	"context"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/operon-framework/operon/internal/tools/project"
)

// change is the kind of files that changed in a project.
type change string

// The changes.
const (
	sourcesChanged   change = "sources"
	manifestsChanged change = "manifests"
)

// changes watches a project's directory.
type changes struct {
	dir     string
	watcher *fsnotify.Watcher
	out     chan []change
}

func watchChanges(ctx context.Context, dir string) (*changes, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s for changes: %w", dir, err)
	}
	c := &changes{dir: dir, watcher: watcher, out: make(chan []change)}
	if err := c.add(dir); err != nil {
		watcher.Close()
		return nil, fmt.Errorf("watch %s for changes: %w", dir, err)
	}
	go c.run(ctx)
	return c, nil
}

// add watches a directory and all directories below it.
func (c *changes) add(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != c.dir && project.Ignored(entry.Name()) {
			return filepath.SkipDir
		}
		return c.watcher.Add(path)
	})
}

// run collects events and sends the changes when no events have arrived for a moment.
func (c *changes) run(ctx context.Context) {
	defer c.watcher.Close()
	var pending []change
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-c.watcher.Events:
			if !open {
				return
			}
			for _, what := range c.classify(event) {
				if !slices.Contains(pending, what) {
					pending = append(pending, what)
				}
			}
			quiet.Reset(timing.settle)
		case <-c.watcher.Errors: // an overflow: assume that everything changed
			pending = []change{sourcesChanged, manifestsChanged}
			quiet.Reset(timing.settle)
		case <-quiet.C:
			if len(pending) == 0 {
				continue
			}
			select {
			case c.out <- pending:
			case <-ctx.Done():
			}
			pending = nil
		}
	}
}

// classify returns the changes that an event means. A new directory is watched from then on, and counts as a change, because
// it may already contain files.
func (c *changes) classify(event fsnotify.Event) []change {
	if event.Op == fsnotify.Chmod {
		return nil
	}
	if event.Has(fsnotify.Create) {
		_ = c.add(event.Name) // fails if it was deleted already
	}
	return classify(c.dir, event.Name)
}

// classify returns the parts of a project to which a file belongs.
func classify(dir, file string) []change {
	relative, err := filepath.Rel(dir, file)
	if err != nil {
		return nil
	}
	name := filepath.Base(relative)
	folders := strings.Split(filepath.ToSlash(filepath.Dir(relative)), "/")
	switch {
	case name[0] == '.' && name != ".", strings.HasSuffix(name, "~"), slices.ContainsFunc(folders, project.Ignored):
		return nil
	case folders[0] == "config" && inProgram(dir, relative):
		return []change{sourcesChanged, manifestsChanged}
	case folders[0] == "config":
		return []change{manifestsChanged}
	case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, ".md"):
		return nil
	default:
		return []change{sourcesChanged} // any other file may be embedded
	}
}

// inProgram reports whether a file among the manifests, or one in a directory, is compiled, or embedded by Go code in a directory above. Other
// manifests do not cause builds: the go command writes into a program whether the repository has changes, so that a build could restart the operator.
func inProgram(dir, relative string) bool {
	if info, err := os.Stat(filepath.Join(dir, relative)); err != nil || !info.IsDir() {
		return isCompiled(relative) || isEmbedded(dir, relative)
	}
	found := false
	_ = filepath.WalkDir(filepath.Join(dir, relative), func(file string, entry fs.DirEntry, err error) error {
		inside, outside := filepath.Rel(dir, file)
		if err != nil || outside != nil || entry.IsDir() { // it was deleted already, for example
			return nil
		}
		if found = isCompiled(inside) || isEmbedded(dir, inside); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func isCompiled(file string) bool {
	return filepath.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go")
}

func isEmbedded(dir, file string) bool {
	for above := filepath.Dir(file); ; above = filepath.Dir(above) {
		code, _ := build.ImportDir(filepath.Join(dir, above), 0) // what it reads in spite of an error is enough
		inside, err := filepath.Rel(above, file)
		if err == nil && slices.ContainsFunc(code.EmbedPatterns, func(pattern string) bool { return embeds(pattern, filepath.ToSlash(inside)) }) {
			return true
		}
		if above == "." {
			return false
		}
	}
}

// embeds reports whether a pattern of a go:embed directive matches a file or a directory above it.
func embeds(pattern, file string) bool {
	pattern = strings.TrimPrefix(pattern, "all:")
	if pattern == "." {
		return true
	}
	for ; file != "."; file = path.Dir(file) {
		if matches, err := path.Match(pattern, file); err == nil && matches {
			return true
		}
	}
	return false
}
