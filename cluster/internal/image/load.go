package image

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/operon-framework/operon/cluster/internal/node/pause"
)

const (
	// leaseLabel marks the leases that retain the contents written by a Load.
	leaseLabel = "operon.dev/load"
)

// Sweep removes the contents that a killed Load has written to the store: incomplete contents are identified by names in their
// archive, and another archive may use the same names. No Load may run at the same time.
func (s *Store) Sweep(ctx context.Context) error {
	keeper := s.client.LeasesService()
	left, err := keeper.List(ctx, fmt.Sprintf("labels.%q", leaseLabel))
	if err != nil {
		return fmt.Errorf("the node's store of images: %w", err)
	}
	for _, lease := range left {
		if err := keeper.Delete(ctx, lease, leases.SynchronousDelete); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("remove the remains of a load that was killed: %w", err)
		}
	}
	return nil
}

// Load writes the images of an archive to the store, and returns when pods can use them. The archive is a tar file in the
// format of `docker save` or in the OCI layout. After an error, the store contains no image that it did not contain before.
func (s *Store) Load(ctx context.Context, path, snapshotter string) (loaded []Image, err error) {
	// The lease retains contents that no image refers to yet. Its deletion collects the remaining ones as garbage before it
	// returns.
	keeper := s.client.LeasesService()
	lease, err := keeper.Create(ctx, leases.WithRandomID(), leases.WithExpiration(timing.leaseTime), leases.WithLabel(leaseLabel, "yes"))
	if err != nil {
		return nil, fmt.Errorf("the node's store of images: %w", err)
	}
	defer func() {
		err = errors.Join(err, keeper.Delete(context.WithoutCancel(ctx), lease, leases.SynchronousDelete))
	}()
	ctx = leases.WithLease(ctx, lease.ID)
	found, err := s.read(ctx, path)
	if err != nil {
		return nil, explain(path, err)
	}
	loaded = []Image{}
	for _, image := range found {
		one, err := s.unpack(ctx, image, snapshotter)
		if err != nil {
			return nil, explain(path, err)
		}
		loaded = append(loaded, one)
	}
	for _, image := range found {
		if err := s.record(ctx, image); err != nil {
			return nil, explain(path, err)
		}
	}
	return loaded, s.awaitKnown(ctx, loaded)
}

// read writes the contents of an archive to the store, and returns the images in it.
func (s *Store) read(ctx context.Context, path string) ([]images.Image, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	store := s.client.ContentStore()
	top, err := archive.ImportIndex(ctx, store, file)
	if err != nil {
		return nil, err
	}
	data, err := content.ReadBlob(ctx, store, top)
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, err
	}
	var found []images.Image
	for _, manifest := range index.Manifests {
		name := nameOf(manifest)
		if name == pause.Reference {
			return nil, fmt.Errorf("it names %s, which the node itself runs in each pod; give it another name", name)
		}
		if name != "" {
			found = append(found, images.Image{Name: name, Target: manifest})
		}
	}
	if len(found) == 0 {
		return nil, errors.New("it has no image name; name the image when you create the file, as in `docker save NAME` and `operon image from-dir --image NAME`")
	}
	return found, nil
}

// nameOf returns the full name of an image in an archive, or the empty string.
func nameOf(manifest ocispec.Descriptor) string {
	for _, annotation := range []string{images.AnnotationImageName, ocispec.AnnotationRefName} {
		if full, err := fullName(manifest.Annotations[annotation]); err == nil {
			return full
		}
	}
	return ""
}

// unpack prepares an image to run on this platform, and makes the store retain all its parts as long as the image exists.
func (s *Store) unpack(ctx context.Context, image images.Image, snapshotter string) (Image, error) {
	store := s.client.ContentStore()
	available, err := images.Platforms(ctx, store, image.Target)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", image.Name, err)
	}
	if !runsHere(available) {
		return Image{}, fmt.Errorf("image %s is for %s, and this node is %s", image.Name, names(available), platforms.DefaultString())
	}
	children := images.FilterPlatforms(images.ChildrenHandler(store), platforms.Default())
	if err := images.Walk(ctx, images.SetChildrenLabels(store, children), image.Target); err != nil {
		return Image{}, fmt.Errorf("image %s is not complete: %w", image.Name, err)
	}
	handle := containerd.NewImage(s.client, image)
	if err := handle.Unpack(ctx, snapshotter); err != nil {
		return Image{}, fmt.Errorf("unpack image %s: %w", image.Name, err)
	}
	size, err := handle.Size(ctx)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", image.Name, err)
	}
	return Image{image.Name, image.Target.Digest.String(), size}, nil
}

func runsHere(available []ocispec.Platform) bool {
	for _, platform := range available {
		if platforms.Default().Match(platform) {
			return true
		}
	}
	return false
}

func names(available []ocispec.Platform) string {
	var list []string
	for _, platform := range available {
		list = append(list, platforms.Format(platform))
	}
	if len(list) == 0 {
		return "no platform"
	}
	return strings.Join(list, " and ")
}

// record stores an image under its name. Another image that had the name before is removed, unless it has further names.
func (s *Store) record(ctx context.Context, image images.Image) error {
	before, err := s.client.ImageService().Get(ctx, image.Name)
	if errdefs.IsNotFound(err) {
		_, err = s.client.ImageService().Create(ctx, image)
		return err
	}
	if err == nil {
		_, err = s.client.ImageService().Update(ctx, image, "target")
	}
	if err != nil || before.Target.Digest == image.Target.Digest {
		return err
	}
	return s.forget(ctx, before.Target.Digest)
}

// awaitKnown returns when the kubelet's part of containerd knows the images. It learns of them through events.
func (s *Store) awaitKnown(ctx context.Context, loaded []Image) error {
	connection, ok := s.client.Conn().(grpc.ClientConnInterface)
	if !ok {
		return fmt.Errorf("the connection to containerd is a %T", s.client.Conn())
	}
	service := runtimev1.NewImageServiceClient(connection)
	ctx, cancel := context.WithTimeoutCause(ctx, timing.knownDeadline, fmt.Errorf("not within %s", timing.knownDeadline))
	defer cancel()
	for _, image := range loaded {
		if err := awaitOne(ctx, service, image.Name); err != nil {
			return fmt.Errorf("image %s is loaded, but the node does not list it: %w", image.Name, err)
		}
	}
	return nil
}

func awaitOne(ctx context.Context, service runtimev1.ImageServiceClient, name string) error {
	tick := time.NewTicker(timing.knownPeriod)
	defer tick.Stop()
	for {
		response, err := service.ImageStatus(ctx, &runtimev1.ImageStatusRequest{Image: &runtimev1.ImageSpec{Image: name}})
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if response.Image != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// explain adds to an error the reason why an archive cannot be loaded.
func explain(path string, err error) error {
	if strings.Contains(err.Error(), unix.ENOSPC.Error()) { // the error is from another process and is only text
		return fmt.Errorf("%s: the disk of the node's store is full: %w; free space, or set OPERON_HOME to another directory", path, err)
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "unrecognized image format") {
		return fmt.Errorf("%s is not an image: want a tar file as `docker save` writes it, or in OCI's layout: %w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
