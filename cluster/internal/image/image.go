// Package image manages the images of a cluster's container node. It writes archives of images directly to the store of the
// node, without a registry, and lists and removes images.
package image

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

	"github.com/operon-framework/operon/cluster/internal/node/pause"
)

// Namespace is the containerd namespace of Kubernetes.
const Namespace = "k8s.io"

// Image is an image in the store.
type Image struct {
	// Name is the full name: the registry and a tag are added to a short name, as the kubelet adds them to the name in a pod.
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Size is the size in bytes, as the image was loaded.
	Size int64 `json:"size"`
}

// Store is the image store of a node.
type Store struct{ client *containerd.Client }

// Open connects to the store behind containerd's socket. The caller must close it.
func Open(socket string) (*Store, error) {
	client, err := containerd.New(socket, containerd.WithDefaultNamespace(Namespace))
	if err != nil {
		return nil, fmt.Errorf("the node's store of images: %w", err)
	}
	return &Store{client}, nil
}

// Close closes the connection.
func (s *Store) Close() error { return s.client.Close() }

// List returns the images in the store, sorted by name, except the images that the node itself needs.
func (s *Store) List(ctx context.Context) ([]Image, error) {
	stored, err := s.client.ListImages(ctx)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	list := []Image{}
	for _, image := range stored {
		if !named(image.Name()) {
			continue
		}
		size, err := image.Size(ctx)
		if errdefs.IsNotFound(err) {
			continue // only the name exists, such as after a pull of an image for other platforms, or the image is just being removed
		}
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", image.Name(), err)
		}
		list = append(list, Image{image.Name(), image.Target().Digest.String(), size})
	}
	slices.SortFunc(list, func(a, b Image) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// named reports whether a user chose the name.
func named(name string) bool { return name != pause.Reference && !isDigest(name) }

// isDigest reports whether the kubelet's part of containerd chose the name: it also stores each image under its digests.
func isDigest(name string) bool {
	return strings.HasPrefix(name, "sha256:") || strings.Contains(name, "@sha256:")
}

// forget removes the names by digest of an image that has no other names. They would retain its contents.
func (s *Store) forget(ctx context.Context, target digest.Digest) error {
	stored, err := s.client.ImageService().List(ctx, fmt.Sprintf("target.digest==%q", target))
	if err != nil || slices.ContainsFunc(stored, func(image images.Image) bool { return !isDigest(image.Name) }) {
		return err
	}
	for _, image := range stored {
		err := s.client.ImageService().Delete(ctx, image.Name, images.SynchronousDelete())
		if err != nil && !errdefs.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// Remove removes an image from the store. Containers that run it continue to run.
func (s *Store) Remove(ctx context.Context, name string) error {
	full, err := fullName(name)
	if err != nil {
		return err
	}
	image, err := s.client.ImageService().Get(ctx, full)
	if err == nil {
		err = s.client.ImageService().Delete(ctx, full, images.SynchronousDelete())
	}
	if err == nil {
		err = s.forget(ctx, image.Target.Digest)
	}
	if err == nil {
		return nil
	}
	if !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove image %s: %w", full, err)
	}
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	known := []string{}
	for _, image := range list {
		known = append(known, image.Name)
	}
	return fmt.Errorf("unknown image %s; existing images: %s", full, cmp.Or(strings.Join(known, ", "), "none"))
}

// fullName adds the parts that the kubelet adds to the name of an image.
func fullName(name string) (string, error) {
	parsed, err := reference.ParseDockerRef(name)
	if err != nil {
		return "", fmt.Errorf("image name %q: %w", name, err)
	}
	return parsed.String(), nil
}
