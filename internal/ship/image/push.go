package image

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Push pushes the image to a registry under a name. Existing blobs are not sent, attachments are included, and the name is
// set after the image is complete. The credentials are those of Docker and similar tools.
func (s *Store) Push(ctx context.Context, to Name, image Image) error {
	return s.push(ctx, to, image, nil)
}

func (s *Store) push(ctx context.Context, to Name, image Image, transport http.RoundTripper) error {
	tag, err := name.NewTag(to.Full)
	if err != nil {
		return err
	}
	if err := s.send(tag, image, requests(ctx, transport)); err != nil {
		return refusal{verbPush, tag, err}.explain(ctx)
	}
	return nil
}

// requests returns the options of requests to a registry. transport is nil, except in tests.
func requests(ctx context.Context, transport http.RoundTripper) []remote.Option {
	all := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("operon")}
	if transport != nil {
		all = append(all, remote.WithTransport(transport))
	}
	return all
}

// send sends manifests by their digests, and sets the name of the image last.
func (s *Store) send(tag name.Tag, image Image, options []remote.Option) error {
	index, err := s.index(image)
	if err != nil {
		return err
	}
	for _, manifest := range append([]v1.Descriptor{image.Descriptor}, image.Attached...) {
		if err := sendManifest(tag.Context(), index, manifest, options); err != nil {
			return err
		}
	}
	found, err := remote.Get(tag.Context().Digest(image.Descriptor.Digest.String()), options...)
	if err != nil {
		return err
	}
	return remote.Tag(tag, found, options...)
}

func sendManifest(to name.Repository, index v1.ImageIndex, manifest v1.Descriptor, options []remote.Option) error {
	at := to.Digest(manifest.Digest.String())
	if manifest.MediaType.IsIndex() {
		inner, err := index.ImageIndex(manifest.Digest)
		if err != nil {
			return err
		}
		return remote.WriteIndex(at, inner, options...)
	}
	one, err := index.Image(manifest.Digest)
	if err != nil {
		return err
	}
	return remote.Write(at, one, options...)
}

// index makes the store a layout that lists the image, and returns its index.
func (s *Store) index(image Image) (v1.ImageIndex, error) {
	content, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: append([]v1.Descriptor{image.Descriptor}, image.Attached...),
	})
	if err != nil {
		return nil, err
	}
	if err := writeWhole(filepath.Join(s.dir, indexFile), 0o600, bytesTo(content)); err != nil {
		return nil, err
	}
	return layout.ImageIndexFromPath(s.dir)
}
