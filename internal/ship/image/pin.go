package image

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Pin returns the name of an image with the digest that its tag has in its registry now, such as registry.example.com/web@sha256:…. A name with
// a digest stays as it is, and needs no registry. The credentials are those of Docker and similar tools.
func Pin(ctx context.Context, reference string) (string, error) { return pin(ctx, reference, nil) }

func pin(ctx context.Context, reference string, transport http.RoundTripper) (string, error) {
	of, err := name.ParseReference(reference)
	if err != nil {
		return "", fmt.Errorf("the image name %q: %w", reference, err)
	}
	if _, pinned := of.(name.Digest); pinned {
		return reference, nil
	}
	found, err := remote.Get(of, options(ctx, transport)...)
	if err != nil {
		return "", refusal{verbRead, of, err}.explain(ctx)
	}
	return of.Context().Digest(found.Digest.String()).String(), nil
}
