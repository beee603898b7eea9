package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local"
)

const (
	// lockFile is a file in a cache directory. It is locked while a process builds its project.
	lockFile = "lock"
	// projectFile is a file in a cache directory that names its project.
	projectFile = "project"
	// removing is the suffix of the names of directories that are being removed.
	removing = ".removing"
	// forgotten is the time after the last use for which caches without a project's name, from older versions, are retained.
	forgotten = 30 * 24 * time.Hour
)

// noteProject writes the name of the project to a cache directory.
func noteProject(folder, dir string) error {
	file := filepath.Join(folder, projectFile)
	if noted, err := os.ReadFile(file); err == nil && string(noted) == dir {
		return nil
	}
	return image.WriteFile(file, 0o600, []byte(dir))
}

// removeGone removes the caches of projects that no longer exist, except locked ones. If two processes do so at the same
// time, one of them does nothing.
func removeGone() error {
	all, err := local.Folder("build")
	if err != nil {
		return err
	}
	lock, err := local.TryLock(filepath.Join(all, lockFile))
	if errors.Is(err, local.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	var problems []error
	for _, entry := range entries {
		if entry.IsDir() {
			problems = append(problems, removeIfGone(filepath.Join(all, entry.Name())))
		}
	}
	return errors.Join(problems...)
}

// removeIfGone removes a cache directory whose project no longer exists. It renames the directory first, so that processes
// that wait for its lock, or start while it is being emptied, create a new one.
func removeIfGone(folder string) error {
	if strings.HasSuffix(folder, removing) { // left by a killed run
		return os.RemoveAll(folder)
	}
	lock, err := local.TryLock(filepath.Join(folder, lockFile))
	if errors.Is(err, local.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	gone, err := isGone(folder)
	if err != nil || !gone {
		return err
	}
	away := folder + removing
	if err := errors.Join(os.RemoveAll(away), os.Rename(folder, away)); err != nil {
		return err
	}
	return os.RemoveAll(away)
}

// isGone reports whether the project of a cache directory no longer exists.
func isGone(folder string) (bool, error) {
	dir, err := os.ReadFile(filepath.Join(folder, projectFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if len(dir) == 0 {
		used, err := lastUse(folder)
		return err == nil && time.Since(used) > forgotten, err
	}
	for _, name := range []string{"go.mod", project.WatchesFile} {
		// A project that cannot be read may exist.
		if _, err = os.Stat(filepath.Join(string(dir), name)); !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	return true, nil
}

// lastUse returns the time of the last write to a cache directory: each build writes blobs.
func lastUse(folder string) (time.Time, error) {
	var last time.Time
	for _, path := range []string{folder, filepath.Join(folder, "store", "blobs", "sha256")} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return time.Time{}, err
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last, nil
}
