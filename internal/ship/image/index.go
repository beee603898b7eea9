package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The annotations in which tools find the name of an image in a layout.
const (
	refName        = "org.opencontainers.image.ref.name"
	containerdName = "io.containerd.image.name"
)

// Files of a layout, besides the blobs.
const (
	indexFile  = "index.json"
	marker     = "oci-layout"
	markerText = `{"imageLayoutVersion":"1.0.0"}`
)

// entries returns the entries for an image in the index of a layout: the image with its name, and its attachments.
func entries(name Name, image Image) []v1.Descriptor {
	root := image.Descriptor
	root.Annotations = maps.Clone(root.Annotations)
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[refName], root.Annotations[containerdName] = name.Tag, name.Full
	return append([]v1.Descriptor{root}, image.Attached...)
}

// indexOf reads the index of the layout in dir. It returns an empty index if there is no layout yet. It fails if the
// directory contains something else.
func indexOf(dir string) (*v1.IndexManifest, error) {
	content, err := os.ReadFile(filepath.Join(dir, indexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}, mustBeFree(dir)
	}
	if err != nil {
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s is not the index of an OCI layout: %w; name another directory, or delete this one", filepath.Join(dir, indexFile), err)
	}
	return index, nil
}

// mustBeFree returns an error if a directory contains anything other than an incomplete layout.
func mustBeFree(dir string) error {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours := []string{marker, "blobs", partOf(indexFile)}
	for _, entry := range found {
		if !slices.Contains(ours, entry.Name()) {
			return fmt.Errorf("%s is not an OCI layout, and contains files: name a new directory", dir)
		}
	}
	return nil
}

// replace adds an image to an index, in place of the image with the same name and the attachments of that image.
func replace(index *v1.IndexManifest, name Name, image Image, subjectOf func(v1.Descriptor) v1.Hash) {
	fresh := entries(name, image)
	gone := map[v1.Hash]bool{}
	for _, subject := range subjects(index.Manifests, name) {
		gone[subject] = !hasOtherName(index.Manifests, subject, name)
	}
	for _, entry := range fresh {
		gone[entry.Digest] = true
	}
	index.Manifests = slices.DeleteFunc(index.Manifests, func(entry v1.Descriptor) bool {
		switch entry.Annotations[containerdName] {
		case "":
		case name.Full:
			return true
		default:
			return false // another name of the same image is kept
		}
		return gone[entry.Digest] || entry.ArtifactType != "" && gone[subjectOf(entry)]
	})
	index.Manifests = append(index.Manifests, fresh...)
}

// hasOtherName reports whether an image also has another name, and so stays with its attachments.
func hasOtherName(manifests []v1.Descriptor, image v1.Hash, name Name) bool {
	return slices.ContainsFunc(manifests, func(entry v1.Descriptor) bool {
		other := entry.Annotations[containerdName]
		return entry.Digest == image && other != "" && other != name.Full
	})
}

// subjects returns the images that had the name.
func subjects(manifests []v1.Descriptor, name Name) []v1.Hash {
	var found []v1.Hash
	for _, entry := range manifests {
		if entry.Annotations[containerdName] == name.Full {
			found = append(found, entry.Digest)
		}
	}
	return found
}

// dockerEntry is the entry in an archive for tools that do not support layouts.
type dockerEntry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// dockerManifest lists the image. For an index, it lists the image that this machine would run, or else the first.
func (s *Store) dockerManifest(name Name, image Image) ([]byte, error) {
	single := image.Descriptor
	if single.MediaType.IsIndex() {
		images, err := s.below(single)
		if err != nil {
			return nil, err
		}
		here := slices.IndexFunc(images, func(d v1.Descriptor) bool { return d.Platform != nil && d.Platform.Architecture == runtime.GOARCH })
		single = images[max(here, 0)]
	}
	blobs, err := s.below(single)
	if err != nil {
		return nil, err
	}
	entry := dockerEntry{Config: blobPath(blobs[0]), RepoTags: []string{name.Short}}
	for _, layer := range blobs[1:] {
		entry.Layers = append(entry.Layers, blobPath(layer))
	}
	return json.Marshal([]dockerEntry{entry})
}

func blobPath(blob v1.Descriptor) string { return "blobs/sha256/" + blob.Digest.Hex }
