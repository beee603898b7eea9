package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// WriteLayout puts the image into the OCI layout in dir, which is made if need be: only blobs that are not there
// yet are written, and images with other names stay. It returns how many blobs were written.
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
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755); err != nil {
		return 0, err
	}
	written := 0
	for _, blob := range blobs {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		fresh, err := s.copyTo(filepath.Join(dir, filepath.FromSlash(blobPath(blob))), blob)
		if err != nil {
			return 0, err
		}
		if fresh {
			written++
		}
	}
	into := &Store{dir}
	replace(index, name, image, into.subjectOf)
	content, err := json.Marshal(index)
	if err != nil {
		return 0, err
	}
	return written, errors.Join(
		writeWhole(filepath.Join(dir, marker), 0o644, bytesTo([]byte(markerText))),
		writeWhole(filepath.Join(dir, indexFile), 0o644, bytesTo(content)),
	)
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
