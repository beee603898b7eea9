package image

import (
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image in a store, or an index of the same image for several platforms, with
// what is attached to it.
type Image struct {
	Descriptor v1.Descriptor
	// Attached are manifests whose subject is the image, or one of those in the index.
	Attached []v1.Descriptor
}

// Config is what an image says of itself, beside its layers.
type Config struct {
	Platform v1.Platform
	// Run is how its containers are run.
	Run v1.Config
	// Created is when its sources are from.
	Created time.Time
	// Annotations are those of the manifest.
	Annotations map[string]string
}

// Image makes an image of layers, the lowest first. The descriptor tells the platform.
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

// Index makes an index of images for several platforms.
func (s *Store) Index(annotations map[string]string, images ...v1.Descriptor) (v1.Descriptor, error) {
	return s.putJSON(types.OCIImageIndex, v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: images, Annotations: annotations,
	})
}

// emptyConfig is the media type of the configuration of what is no image.
const emptyConfig types.MediaType = "application/vnd.oci.empty.v1+json"

// Attach makes a document of a media type that is about subject: an artifact whose manifest names it, by which registries list
// it as one of its referrers.
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
