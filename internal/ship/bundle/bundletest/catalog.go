package bundletest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
)

// channel is the only channel of the package under test in the catalog.
const channel = "test"

// Where the manager finds the catalog in an image.
const catalogFile = "configs/catalog.json"

// registryServer is a registry in this process, which the manager reads catalogs from.
type registryServer struct {
	host   string
	server *http.Server
	done   chan error
}

func startRegistry(ctx context.Context) (*registryServer, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a registry for the catalog: %w", err)
	}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	r := &registryServer{listener.Addr().String(), &http.Server{Handler: handler, ReadHeaderTimeout: timing.down}, make(chan error, 1)}
	go func() { r.done <- r.server.Serve(listener) }()
	return r, nil
}

func (r *registryServer) close() error {
	err := r.server.Close()
	if ended := <-r.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// push pushes a catalog and returns the name of its image.
func (r *registryServer) push(ctx context.Context, to string, made *catalog.Catalog) (string, error) {
	var content bytes.Buffer
	if err := made.Write(&content, catalog.JSON); err != nil {
		return "", err
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	err := writer.WriteHeader(&tar.Header{Name: catalogFile, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(content.Len())})
	if err == nil {
		_, err = writer.Write(content.Bytes())
	}
	if err := errors.Join(err, writer.Close()); err != nil {
		return "", err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		return "", err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return "", err
	}
	reference, err := name.ParseReference(r.host + "/" + to)
	if err != nil {
		return "", err
	}
	if err := remote.Write(reference, image, remote.WithContext(ctx)); err != nil {
		return "", fmt.Errorf("push the catalog: %w", err)
	}
	return reference.String(), nil
}

// catalog returns a catalog of versions under test, the oldest first, and of the bundles that they depend on.
func (t *test) catalog(versions ...*version) (*catalog.Catalog, error) {
	var all []*bundle.Bundle
	for i, v := range versions {
		listed, fields := *v.Bundle, *v.CSV
		listed.Package, listed.Channels, listed.DefaultChannel, listed.CSV = t.packageName(), []string{channel}, channel, &fields
		fields.Spec.Replaces, fields.Spec.Skips, fields.Annotations = "", nil, nil // versions that the catalog does not have
		if i > 0 {
			fields.Spec.Replaces = versions[i-1].CSV.Name
		}
		all = append(all, &listed)
	}
	return catalog.Of(slices.Concat(all, t.with), "")
}

// packageName returns the name of the package under test. A bundle in the older layout does not have it.
func (t *test) packageName() string {
	if t.bundle.Package == "" {
		return "operator-under-test"
	}
	return t.bundle.Package
}
