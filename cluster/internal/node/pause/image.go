package pause

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Reference is the name of the image.
const Reference = "operon.local/pause:1"

// Archive returns the image as a tar file in the OCI layout.
func Archive(architecture string) ([]byte, error) {
	program, err := Program(architecture)
	if err != nil {
		return nil, err
	}
	layer, err := tarball(file{"pause", 0o755, program})
	if err != nil {
		return nil, err
	}
	l := layout{}
	config := l.json(ocispec.MediaTypeImageConfig, ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: architecture},
		Config:   ocispec.ImageConfig{Entrypoint: []string{"/pause"}, User: "65535:65535"},
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(layer)}},
	})
	manifest := l.json(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: config, Layers: []ocispec.Descriptor{l.blob(ocispec.MediaTypeImageLayer, layer)},
	})
	manifest.Annotations = map[string]string{"io.containerd.image.name": Reference}
	index, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: []ocispec.Descriptor{manifest},
	})
	if l.err != nil || err != nil {
		return nil, fmt.Errorf("the image of a pod's sandbox: %w", firstOf(l.err, err))
	}
	l.files = append(l.files, file{ocispec.ImageIndexFile, 0o644, index},
		file{ocispec.ImageLayoutFile, 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	return tarball(l.files...)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

type file struct {
	name string
	mode int64
	data []byte
}

// layout collects the blobs of an image.
type layout struct {
	files []file
	err   error
}

func (l *layout) json(mediaType string, value any) ocispec.Descriptor {
	data, err := json.Marshal(value)
	l.err = firstOf(l.err, err)
	return l.blob(mediaType, data)
}

func (l *layout) blob(mediaType string, data []byte) ocispec.Descriptor {
	l.files = append(l.files, file{fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(data)), 0o644, data})
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// tarball returns identical bytes for identical files.
func tarball(files ...file) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
