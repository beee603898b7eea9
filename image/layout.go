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
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// WriteLayout puts the image into the OCI layout in dir, which is made if need be: only blobs that are not there
// yet are written, and images with other names stay. It returns how many blobs were written. What it could not end it takes back.
func (s *Store) WriteLayout(ctx context.Context, dir string, name Name, image Image) (int, error) {
	written, err := s.layout(ctx, dir, name, image)
	if err != nil {
		return 0, fmt.Errorf("write the image to the layout %s: %w", dir, err)
	}
	return written, nil
}

func (s *Store) layout(ctx context.Context, dir string, name Name, image Image) (int, error) {
	index, err := indexOf(dir)
	if err != nil {
		return 0, err
	}
	blobs, err := s.all(image)
	if err != nil {
		return 0, err
	}
	var made addition
	err = s.fill(ctx, dir, blobs, &made)
	if err == nil {
		err = list(dir, index, name, image, &made)
	}
	if err != nil {
		return 0, errors.Join(err, made.takeBack())
	}
	return made.blobs, nil
}

// addition is what a run adds to a layout, each path after the one that it is in.
type addition struct {
	paths []string
	blobs int
}

// takeBack removes what nothing lists yet. A folder in which somebody else has put something meanwhile stays.
func (a *addition) takeBack() error {
	for _, path := range slices.Backward(a.paths) {
		if err := os.Remove(path); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
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
	for _, folder := range []string{dir, filepath.Join(dir, "blobs"), filepath.Join(dir, "blobs", "sha256")} {
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

// copyTo copies a blob, unless it is there already.
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
