package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/local"
)

// Options describe a cache.
type Options struct {
	// Sources are the directories and files of the catalog.
	Sources []string
	// Dir is the directory of the cache. It belongs to this catalog alone, and is created if necessary. It can be read-only if the cache in it
	// is up to date.
	Dir string
	// Rebuild ignores an existing cache.
	Rebuild bool
}

// maxBuilds is how often a cache is built while the files of the catalog keep changing.
const maxBuilds = 3

// Open opens the cache of a catalog. It builds the cache if there is none, or if it is corrupt or of other files. It fails if the catalog cannot
// be read. Packages with problems are left out: see [Store.Problems].
//
// If the files are unchanged, they are not read: the file system records changes. If they were copied together with the cache, such as into an
// image, they are read once.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := local.WaitLockFolder(ctx, o.Dir, func() {})
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	made, err := o.open(ctx)
	if err := errors.Join(err, lock.Unlock()); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

func (o Options) open(ctx context.Context) (*Store, error) {
	for range maxBuilds {
		print, modified, err := fingerprint(o.Sources)
		if err != nil {
			return nil, err
		}
		if made := o.cached(print); made != nil {
			return made, nil
		}
		made, err := o.rebuild(ctx, inputs{Fingerprint: print}, modified)
		if err != nil {
			return nil, err
		}
		if now, _, err := fingerprint(o.Sources); err == nil && now == print {
			return made, nil
		}
		if err := made.Close(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the files of the catalog keep changing; try again when they are written")
}

// cached returns the store of files with a fingerprint, or nil if its cache cannot be used.
func (o Options) cached(print string) *Store {
	recorded, err := readInputs(o.Dir)
	if err != nil || recorded.Digest == "" || o.Rebuild {
		return nil
	}
	if recorded.Fingerprint != print {
		if now, err := digest(o.Sources); err != nil || now != recorded.Digest {
			return nil
		}
	}
	made, err := o.load(recorded.Digest, print)
	if err != nil {
		return nil
	}
	if recorded.Fingerprint != print {
		recorded.Fingerprint = print
		_ = recorded.write(o.Dir) // in a read-only directory, the files are read each time
	}
	return made
}

// load opens the cache of a digest.
func (o Options) load(of, print string) (*Store, error) {
	s := &Store{sources: o.Sources, fingerprint: print}
	var err error
	if s.lines, err = os.Open(o.path(of, linesSuffix)); err != nil {
		return nil, err
	}
	if s.data, err = os.Open(o.path(of, dataSuffix)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.readIndex(of); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Suffixes of the files of a cache.
const (
	linesSuffix = ".jsonl"
	dataSuffix  = ".cache"
)

func (o Options) path(of, suffix string) string {
	return filepath.Join(o.Dir, of[:min(16, len(of))]+suffix)
}

// rebuild builds the cache, and removes others from the directory.
func (o Options) rebuild(ctx context.Context, wanted inputs, modified time.Time) (*Store, error) {
	var err error
	if wanted.Digest, err = digest(o.Sources); err != nil {
		return nil, err
	}
	if err := o.sweep(wanted.Digest); err != nil {
		return nil, err
	}
	spool, err := os.CreateTemp(o.Dir, tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("build the cache: %w; name another directory with --cache-dir", err)
	}
	about := index{Digest: wanted.Digest, Modified: modified.UTC()}
	err = replace(o.path(wanted.Digest, linesSuffix), func(lines io.Writer) error {
		return replace(o.path(wanted.Digest, dataSuffix), func(data io.Writer) error {
			toLines, toData := bufio.NewWriter(lines), bufio.NewWriter(data)
			err := build(ctx, o.Sources, spool, about, toLines, toData)
			return errors.Join(err, toLines.Flush(), toData.Flush())
		})
	})
	if err := errors.Join(err, spool.Close(), os.Remove(spool.Name())); err != nil {
		return nil, err
	}
	if err := wanted.write(o.Dir); err != nil {
		return nil, err
	}
	return o.load(wanted.Digest, wanted.Fingerprint)
}

// written matches the names of caches, and of files that are not complete.
var written = regexp.MustCompile(`^([0-9a-f]{16}\.(jsonl|cache)|\.part-[0-9]+)$`)

// sweep removes the caches of older files and the remains of interrupted builds. A store that is open keeps its files. It fails if the
// directory is not that of a cache, because a file in it would be replaced.
func (o Options) sweep(keep string) error {
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return err
	}
	recorded, _ := readInputs(o.Dir)
	exists := func(name string) bool { _, err := os.Lstat(filepath.Join(o.Dir, name)); return err == nil }
	entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		stem, _, _ := strings.Cut(entry.Name(), ".") // a cache has two files
		known := recorded.Digest != "" || stem == "" || exists(stem+linesSuffix) && exists(stem+dataSuffix)
		return !known || !entry.Type().IsRegular() || !written.MatchString(entry.Name())
	})
	if exists(inputsFile) && recorded.Digest == "" && len(entries) == 0 {
		return fmt.Errorf("%s is not of a cache: name another directory with --cache-dir", filepath.Join(o.Dir, inputsFile))
	}
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Join(o.Dir, name) == o.path(keep, linesSuffix) || filepath.Join(o.Dir, name) == o.path(keep, dataSuffix) {
			continue
		}
		_ = os.Remove(filepath.Join(o.Dir, name)) // some systems keep files that are open; the next build removes them
	}
	return nil
}
