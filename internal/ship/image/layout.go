package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/local"
)

// writeLayout writes the image to the OCI layout in dir, which it creates if necessary. It writes only missing blobs, keeps images with
// other names, and returns the number of written blobs. If it fails, it removes its additions. If another process is writing to the layout,
// it calls waiting once and waits.
func (s *Store) writeLayout(ctx context.Context, dir string, name Name, image Image, waiting func()) (int, error) {
	written, err := s.lockLayout(ctx, dir, name, image, waiting)
	if err != nil {
		return 0, fmt.Errorf("write the image to the layout %s: %w", dir, err)
	}
	return written, nil
}

// lockLayout locks the layout from reading its index to writing the new one. After an error, additions are removed while the
// lock is held, because other processes may rely on a blob that they find.
func (s *Store) lockLayout(ctx context.Context, dir string, name Name, image Image, waiting func()) (int, error) {
	blobs, err := s.all(image)
	if err != nil {
		return 0, err
	}
	var made addition
	lock, err := made.lock(ctx, dir, waiting)
	if err != nil {
		return 0, err
	}
	defer lock.Unlock()
	if err := s.layout(ctx, dir, name, image, blobs, &made); err != nil {
		return 0, errors.Join(err, made.takeBack())
	}
	return made.blobs, nil
}

func (s *Store) layout(ctx context.Context, dir string, name Name, image Image, blobs []v1.Descriptor, made *addition) error {
	index, err := indexOf(dir)
	if err != nil {
		return err
	}
	if err := sweepParts(filepath.Join(dir, "blobs", "sha256")); err != nil {
		return err
	}
	if err := s.fill(ctx, dir, blobs, made); err != nil {
		return err
	}
	return list(dir, index, name, image, made)
}

// sweepParts removes incomplete blobs of killed runs. Because the layout is locked, no process writes them.
func sweepParts(blobs string) error {
	parts, err := glob.In(blobs, ".*.part")
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := os.Remove(part); err != nil {
			return err
		}
	}
	return nil
}

// addition records the paths that a run adds to a layout, each after the directory that contains it.
type addition struct {
	paths []string
	blobs int
}

// lock locks the layout's directory, and creates it if necessary. It locks the directory itself, because a lock file would be
// part of the user's layout.
func (a *addition) lock(ctx context.Context, dir string, waiting func()) (*local.Lock, error) {
	waiting = sync.OnceFunc(waiting)
	for {
		if err := a.folder(dir); err != nil {
			return nil, err
		}
		lock, err := local.WaitLockFolder(ctx, dir, waiting)
		if !errors.Is(err, fs.ErrNotExist) {
			return lock, err
		} // the process that held the lock had created the directory, and removed it
	}
}

// takeBack removes additions that the index does not list yet. It keeps a directory to which another client added files in
// the meantime.
func (a *addition) takeBack() error {
	for _, path := range slices.Backward(a.paths) {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// folder creates a directory unless it exists.
func (a *addition) folder(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	a.paths = append(a.paths, path)
	return nil
}

// fill copies missing blobs to a layout.
func (s *Store) fill(ctx context.Context, dir string, blobs []v1.Descriptor, made *addition) error {
	for _, folder := range []string{filepath.Join(dir, "blobs"), filepath.Join(dir, "blobs", "sha256")} {
		if err := made.folder(folder); err != nil {
			return err
		}
	}
	for _, blob := range blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(blobPath(blob)))
		fresh, err := s.copyTo(path, blob)
		if err != nil {
			return err
		}
		if fresh {
			made.paths = append(made.paths, path)
			made.blobs++
		}
	}
	return nil
}

// list adds the image to the layout's index. This is the last step.
func list(dir string, index *v1.IndexManifest, name Name, image Image, made *addition) error {
	into := &Store{dir}
	replace(index, name, image, into.subjectOf)
	content, err := json.Marshal(index)
	if err != nil {
		return err
	}
	mark := filepath.Join(dir, marker)
	if _, err := os.Stat(mark); errors.Is(err, fs.ErrNotExist) {
		if err := writeWhole(mark, 0o644, bytesTo([]byte(markerText))); err != nil {
			return err
		}
		made.paths = append(made.paths, mark)
	}
	return writeWhole(filepath.Join(dir, indexFile), 0o644, bytesTo(content))
}

// copyTo copies a blob, unless it already exists.
func (s *Store) copyTo(path string, blob v1.Descriptor) (bool, error) {
	if info, err := os.Stat(path); err == nil && info.Size() == blob.Size {
		return false, nil
	}
	return true, writeWhole(path, 0o644, func(out io.Writer) error {
		from, err := os.Open(s.path(blob.Digest))
		if err != nil {
			return err
		}
		defer from.Close()
		_, err = io.Copy(out, from)
		return err
	})
}

func bytesTo(content []byte) func(io.Writer) error {
	return func(out io.Writer) error {
		_, err := out.Write(content)
		return err
	}
}

// subjectOf returns the digest of the image to which a manifest is attached, or an empty one if it cannot be read.
func (s *Store) subjectOf(manifest v1.Descriptor) v1.Hash {
	var attached v1.Manifest
	content, err := s.read(manifest)
	if err != nil || json.Unmarshal(content, &attached) != nil || attached.Subject == nil {
		return v1.Hash{}
	}
	return attached.Subject.Digest
}
