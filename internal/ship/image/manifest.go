package image

import (
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image in a store, or an index of the same image for several platforms, with its attachments.
type Image struct {
	Descriptor v1.Descriptor
	// Attached are the manifests whose subject is the image, or one of the images in the index.
	Attached []v1.Descriptor
}

// Config describes an image, besides its layers.
type Config struct {
	Platform v1.Platform
	// Run defines how its containers run.
	Run v1.Config
	// Created is the time of its sources.
	Created time.Time
	// Annotations are the annotations of the manifest.
	Annotations map[string]string
}

// Image builds an image from layers, the lowest first. The descriptor contains the platform.
func (s *Store) Image(c Config, layers ...Layer) (v1.Descriptor, error) {
	created := v1.Time{Time: c.Created.UTC()}
	file := v1.ConfigFile{
		Architecture: c.Platform.Architecture,
		OS:           c.Platform.OS,
		Variant:      c.Platform.Variant,
		Created:      created,
		Config:       c.Run,
		RootFS:       v1.RootFS{Type: "layers"},
	}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: c.Annotations}
	for _, layer := range layers {
		file.RootFS.DiffIDs = append(file.RootFS.DiffIDs, layer.DiffID)
		file.History = append(file.History, v1.History{Created: created, CreatedBy: layer.By})
		manifest.Layers = append(manifest.Layers, layer.Descriptor)
	}
	var err error
	if manifest.Config, err = s.putJSON(types.OCIConfigJSON, file); err != nil {
		return v1.Descriptor{}, err
	}
	made, err := s.putJSON(types.OCIManifestSchema1, manifest)
	made.Platform = &c.Platform
	return made, err
}

// Index builds an index of images for several platforms.
func (s *Store) Index(annotations map[string]string, images ...v1.Descriptor) (v1.Descriptor, error) {
	return s.putJSON(types.OCIImageIndex, v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: images, Annotations: annotations,
	})
}

// emptyConfig is the media type of the configuration of an artifact that is not an image.
const emptyConfig types.MediaType = "application/vnd.oci.empty.v1+json"

// Attach attaches a document to subject: an artifact whose manifest names the subject, so that registries list the artifact
// as one of its referrers.
func (s *Store) Attach(subject v1.Descriptor, media types.MediaType, content []byte, annotations map[string]string) (v1.Descriptor, error) {
	document, err := s.put(media, content)
	if err != nil {
		return v1.Descriptor{}, err
	}
	config, err := s.put(emptyConfig, []byte("{}"))
	if err != nil {
		return v1.Descriptor{}, err
	}
	made, err := s.putJSON(types.OCIManifestSchema1, v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: string(media),
		Config: config, Layers: []v1.Descriptor{document}, Annotations: annotations,
		Subject: &v1.Descriptor{MediaType: subject.MediaType, Size: subject.Size, Digest: subject.Digest},
	})
	made.ArtifactType, made.Annotations = string(media), annotations
	return made, err
}

// Blob is the content of an artifact, or its configuration.
type Blob struct {
	Media   types.MediaType
	Content []byte
}

// Artifact builds a manifest of blobs that are not the layers of an image.
func (s *Store) Artifact(config Blob, annotations map[string]string, content ...Blob) (v1.Descriptor, error) {
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: annotations}
	var err error
	if manifest.Config, err = s.put(config.Media, config.Content); err != nil {
		return v1.Descriptor{}, err
	}
	for _, blob := range content {
		put, err := s.put(blob.Media, blob.Content)
		if err != nil {
			return v1.Descriptor{}, err
		}
		manifest.Layers = append(manifest.Layers, put)
	}
	return s.putJSON(types.OCIManifestSchema1, manifest)
}
