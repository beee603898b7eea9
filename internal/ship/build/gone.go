package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/operon-framework/operon/local"
)

const (
	// lockFile in a directory of caches is locked by who builds its project.
	lockFile = "lock"
	// projectFile names the project that a directory of caches is of.
	projectFile = "project"
	// removing ends the names of directories that are being removed.
	removing = ".removing"
	// forgotten is how long caches are kept that name no project, as those of older versions do not, after their last use.
	forgotten = 30 * 24 * time.Hour
)

// noteProject has a directory of caches name its project.
func noteProject(folder, dir string) error {
	file := filepath.Join(folder, projectFile)
	if noted, err := os.ReadFile(file); err == nil && string(noted) == dir {
		return nil
	}
	return writeWhole(file, []byte(dir))
}

// removeGone removes the caches of projects that are gone, but those that somebody holds. Of two that do so at once, one does.
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

// removeIfGone removes a directory of caches whose project is gone. It has another name first: who waits for its lock, or comes
// while it is emptied, makes a new one.
func removeIfGone(folder string) error {
	if strings.HasSuffix(folder, removing) { // by a run that was killed
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

// isGone reports whether the project of a directory of caches is not there any more.
func isGone(folder string) (bool, error) {
	dir, err := os.ReadFile(filepath.Join(folder, projectFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if len(dir) == 0 {
		used, err := lastUse(folder)
		return err == nil && time.Since(used) > forgotten, err
	}
	_, err = os.Stat(filepath.Join(string(dir), "go.mod"))
	return errors.Is(err, fs.ErrNotExist), nil // a project that cannot be looked at may be there
}

// lastUse is when a directory of caches was written to: each build writes blobs.
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
