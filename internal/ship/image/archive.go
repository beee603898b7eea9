package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// WriteArchive writes the image to a file that every container tool can load: an OCI layout with all platforms and
// attachments, and the list in which older tools find one image. The same image results in the same file.
func (s *Store) WriteArchive(ctx context.Context, file string, name Name, image Image) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write the image: %s is not a file; name a file such as image.tar", file)
	}
	err := writeWhole(file, 0o644, func(out io.Writer) error { return s.archive(ctx, out, name, image) })
	if err != nil {
		return fmt.Errorf("write the image to %s: %w", file, err)
	}
	return nil
}

func (s *Store) archive(ctx context.Context, out io.Writer, name Name, image Image) error {
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: entries(name, image)})
	if err != nil {
		return err
	}
	docker, err := s.dockerManifest(name, image)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	for _, file := range []File{Content(marker, 0o644, []byte(markerText)), Content(indexFile, 0o644, index), Content("manifest.json", 0o644, docker)} {
		if err := file.write(archive); err != nil {
			return err
		}
	}
	blobs, err := s.all(image)
	if err != nil {
		return err
	}
	for _, blob := range blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, err := FromDisk(blobPath(blob), 0o644, s.path(blob.Digest))
		if err != nil {
			return err
		}
		if err := file.write(archive); err != nil {
			return err
		}
	}
	return archive.Close()
}
