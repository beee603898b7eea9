package pulled

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// unfinishedPrefix is the beginning of the names of directories that are not complete yet.
const unfinishedPrefix = ".unpack-"

// kept is an image in the directory of a store.
type kept struct {
	place string
	used  time.Time
	size  int64
}

// evict removes the images that were not used for the longest time until the others are small enough together, but not the one at a place.
// It also removes what a process that was killed has left.
func (s *Store) evict(place string) error {
	all, err := s.all()
	if err != nil {
		return err
	}
	var total int64
	for _, one := range all {
		total += one.size
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.place, b.place)) })
	for _, one := range all {
		if total <= s.limits.Kept {
			return nil
		}
		if one.place == place {
			continue
		}
		if err := os.RemoveAll(one.place); err != nil {
			return err
		}
		total -= one.size
	}
	return nil
}

// all returns the images in the directory.
func (s *Store) all() ([]kept, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, entry := range entries {
		place := filepath.Join(s.dir, entry.Name())
		if strings.HasPrefix(entry.Name(), unfinishedPrefix) {
			if err := removeOld(place); err != nil {
				return nil, err
			}
			continue
		}
		info, err := os.Stat(filepath.Join(place, aboutName))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another goroutine removes it
		}
		if err != nil {
			return nil, err
		}
		image, err := read(place)
		if err != nil {
			return nil, err
		}
		if image != nil {
			all = append(all, kept{place, info.ModTime(), image.Size})
		}
	}
	return all, nil
}

// removeOld removes a directory in which nobody can be unpacking any more.
func removeOld(unfinished string) error {
	info, err := os.Stat(unfinished)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || time.Since(info.ModTime()) < 2*timing.fetch {
		return err
	}
	return os.RemoveAll(unfinished)
}
