package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// Epoch is the time of all files. It is constant, so that a layer changes only with its contents.
var Epoch = time.Unix(0, 0).UTC()

// SourceDate returns the time in the variable SOURCE_DATE_EPOCH, which is a convention of tools for reproducible builds, or
// another time if it is not set.
func SourceDate(otherwise time.Time) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return otherwise, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: want seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// Layer is a layer in a store.
type Layer struct {
	// Descriptor describes the blob.
	Descriptor v1.Descriptor
	// DiffID is the digest of the uncompressed layer.
	DiffID v1.Hash
	// By names the tool that created it, for the history of the image.
	By string
}

// Layer builds a layer from files.
func (s *Store) Layer(ctx context.Context, by string, files []File) (Layer, error) {
	sorted, err := ordered(files)
	if err != nil {
		return Layer{}, err
	}
	plain := sha256.New()
	descriptor, err := s.stream(types.OCILayer, func(blob io.Writer) error {
		packed := gzip.NewWriter(blob)
		archive := tar.NewWriter(io.MultiWriter(packed, plain))
		for _, file := range sorted {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := file.write(archive); err != nil {
				return err
			}
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return packed.Close()
	})
	if err != nil {
		return Layer{}, err
	}
	return Layer{Descriptor: descriptor, DiffID: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(plain.Sum(nil))}, By: by}, nil
}
