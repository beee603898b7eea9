package image

import (
	"context"
	"fmt"
	"net/http"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"
)

// Pin returns the name of an image with the digest that its tag has in its registry now, such as registry.example.com/web@sha256:…. A name with
// a digest stays as it is, and needs no registry. The credentials are those of Docker and similar tools.
func Pin(ctx context.Context, image string) (string, error) { return pin(ctx, image, nil) }

func pin(ctx context.Context, image string, transport http.RoundTripper) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("the image name %q: %w; want a name such as registry.example.com/team/web:1.0", image, err)
	}
	if _, pinned := named.(reference.Digested); pinned {
		return image, nil
	}
	tag, err := name.NewTag(reference.TagNameOnly(named).String())
	if err != nil {
		return "", fmt.Errorf("the image name %q: %w", image, err)
	}
	found, err := remote.Get(tag, requests(ctx, transport)...)
	if err != nil {
		return "", refusal{verbRead, tag, err}.explain(ctx)
	}
	pinned, err := reference.WithDigest(reference.TrimNamed(named), digest.Digest(found.Digest.String()))
	if err != nil {
		return "", fmt.Errorf("the image %s: %w", tag, err)
	}
	return pinned.String(), nil
}
