package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/ship/image"
)

// file is a file of an archive. Its path has slashes, and is relative to the archive's only directory.
type file struct {
	path       string
	content    []byte
	executable bool
}

// writeArchive writes files, in a directory with this name, to an archive. The archive exists only if it is complete.
func writeArchive(target, name string, files []file, modified time.Time) error {
	var content bytes.Buffer
	if err := pack(&content, name, files, modified); err != nil {
		return err
	}
	return image.WriteFile(target, 0o644, content.Bytes())
}

// pack packs files in the order of their paths, without anything that depends on this machine.
func pack(out io.Writer, name string, files []file, modified time.Time) error {
	packed := gzip.NewWriter(out)
	archive := tar.NewWriter(packed)
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.path, b.path) })
	for _, f := range sorted {
		header := &tar.Header{Name: path.Join(name, f.path), Mode: 0o644, Size: int64(len(f.content)), ModTime: modified.UTC(), Format: tar.FormatPAX}
		if f.executable {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}
