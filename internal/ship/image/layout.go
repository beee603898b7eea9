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

// writeLayout puts the image into the OCI layout in dir, which it creates if necessary. It writes only blobs that are
// missing, and keeps images with other names. It returns how many blobs it wrote. If it fails, it removes what it
// added. It waits while another process writes to the layout, and calls waiting once then.
func (s *Store) writeLayout(ctx context.Context, dir string, name Name, image Image, waiting func()) (int, error) {
	written, err := s.lockLayout(ctx, dir, name, image, waiting)
	if err != nil {
		return 0, fmt.Errorf("write the image to the layout %s: %w", dir, err)
	}
	return written, nil
}

// lockLayout lets nobody else change the layout between the look at its index and the new one. What is taken back is so while
// the lock is held: others may count on a blob that they find.
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

// sweepParts removes halves of blobs, of runs that were killed: the lock of the layout tells that nobody writes them.
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

// addition is what a run adds to a layout, each path after the one that it is in.
type addition struct {
	paths []string
	blobs int
}

// lock takes the lock of the layout's directory, which is made if need be. It is the directory's own, as a file for it would be in the user's layout.
func (a *addition) lock(ctx context.Context, dir string, waiting func()) (*local.Lock, error) {
	waiting = sync.OnceFunc(waiting)
	for {
		if err := a.folder(dir); err != nil {
			return nil, err
		}
		lock, err := local.WaitLockFolder(ctx, dir, waiting)
		if !errors.Is(err, fs.ErrNotExist) {
			return lock, err
		} // who held the lock had made the directory, and took it back
	}
}

// takeBack removes what nothing lists yet. A directory in which another client has put something in the meantime stays.
func (a *addition) takeBack() error {
	for _, path := range slices.Backward(a.paths) {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// folder makes one, unless it is there.
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

// fill puts blobs into a layout that does not have them.
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

// list has the layout list the image, at last.
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

// subjectOf is what a manifest is attached to, nothing where it cannot be read.
func (s *Store) subjectOf(manifest v1.Descriptor) v1.Hash {
	var attached v1.Manifest
	content, err := s.read(manifest)
	if err != nil || json.Unmarshal(content, &attached) != nil || attached.Subject == nil {
		return v1.Hash{}
	}
	return attached.Subject.Digest
}
