package up

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// change is the kind of files that changed in a project.
type change string

// The changes.
const (
	sourcesChanged   change = "sources"
	manifestsChanged change = "manifests"
	nothingChanged   change = "nothing"
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
		if path != c.dir && ignoredFolder(entry.Name()) {
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
			if what := c.classify(event); what != nothingChanged && !slices.Contains(pending, what) {
				pending = append(pending, what)
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

// classify returns the change that an event means. A new directory is watched from then on, and counts as a change, because
// it may already contain files.
func (c *changes) classify(event fsnotify.Event) change {
	if event.Op == fsnotify.Chmod {
		return nothingChanged
	}
	if event.Has(fsnotify.Create) {
		_ = c.add(event.Name) // fails if it was deleted already
	}
	return classify(c.dir, event.Name)
}

// classify returns the part of a project to which a file belongs.
func classify(dir, file string) change {
	relative, err := filepath.Rel(dir, file)
	if err != nil {
		return nothingChanged
	}
	name := filepath.Base(relative)
	folders := strings.Split(filepath.ToSlash(filepath.Dir(relative)), "/")
	switch {
	case name[0] == '.' && name != ".", strings.HasSuffix(name, "~"), slices.ContainsFunc(folders, ignoredFolder):
		return nothingChanged
	case folders[0] == "config":
		return manifestsChanged
	case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, ".md"):
		return nothingChanged
	default:
		return sourcesChanged // any other file may be embedded
	}
}

// ignoredFolder reports whether a directory contains neither sources nor manifests.
func ignoredFolder(name string) bool {
	return len(name) > 1 && name[0] == '.' || name == "bin" || name == "vendor" || name == "node_modules" || name == "testdata"
}
