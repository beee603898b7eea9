package catalogs

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/operon-framework/operon/internal/core/yamlsafe"
	extensionv1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/store"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
)

// ErrUnknown means that a catalog has no bundle with a name.
var ErrUnknown = errors.New("is not in the catalog")

// ErrNotRead means that a catalog was not read since this manager has started.
var ErrNotRead = errors.New("was not read yet")

// ErrChanged means that a bundle is not the one that it was.
var ErrChanged = errors.New("the bundle has changed")

// Bundle is a bundle of a catalog.
type Bundle struct {
	*bundle.Bundle
	Pin
	// Properties are the properties in the catalog, as JSON.
	Properties string
}

// Pin identifies the content of a bundle. A zero one means any content.
type Pin struct {
	// Image is the image of the bundle. It is empty if the catalog contains the objects.
	Image string
	// Digest is the digest of the image, or the prefix objectsDigest and the digest of the objects.
	Digest string
}

// objectsDigest begins digests of objects, with the version of what is hashed. Those of older managers begin with sha256, and are equal for different
// objects with the same bytes in a row.
const objectsDigest = "objects-v2-sha256:"

// changed returns an error if a bundle with a digest is not the pinned one.
func (p Pin) changed(digest string) error {
	switch {
	case p.Digest == "" || p.Digest == digest:
		return nil
	case p.Image == "" && !strings.HasPrefix(p.Digest, objectsDigest):
		return fmt.Errorf("%w: its digest %s is from an older version of the manager, and does not identify its objects", ErrChanged, p.Digest)
	}
	return ErrChanged
}

// Bundle reads a bundle of a catalog. If it is pinned, it is fetched by its digest, and it is an error if the catalog has another one by now.
func (c *Catalogs) Bundle(ctx context.Context, of types.NamespacedName, name string, pin Pin) (*Bundle, error) {
	loaded, err := c.present(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("%s: the catalog %s %w", name, of, err)
	}
	known, ok := loaded.source.bundles[name]
	if !ok {
		return nil, fmt.Errorf("%s in %s: %w", name, of, ErrUnknown)
	}
	if pin.Digest != "" && pin.Image != known.image {
		return nil, fmt.Errorf("%s in %s: %w: its image was %q and is %q", name, of, ErrChanged, pin.Image, known.image)
	}
	properties, err := json.Marshal(map[string]any{"properties": loaded.source.properties(known.of, name)})
	if err != nil {
		return nil, err
	}
	found, err := c.content(ctx, loaded, name, pin)
	if err != nil {
		return nil, err
	}
	found.Properties = string(properties)
	if got := found.Name(); got != name { // it could take the place of another operator
		return nil, fmt.Errorf("%s: the catalog %s has the bundle %s under this name", name, of, got)
	}
	if err := pin.changed(found.Digest); err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, of, err)
	}
	return found, nil
}

// present returns the catalog of the object that has a name now. The content of a deleted one must not be installed any more, although it may
// still be in memory.
func (c *Catalogs) present(ctx context.Context, of types.NamespacedName) (*Loaded, error) {
	loaded := c.Get(of)
	if c.objects != nil {
		var object client.Object = &v1alpha1.CatalogSource{}
		if of.Namespace == "" {
			object = &extensionv1.ClusterCatalog{}
		}
		err := c.objects.Get(ctx, of, object)
		if apierrors.IsNotFound(err) {
			return nil, errors.New("does not exist: create it")
		}
		if err != nil {
			return nil, fmt.Errorf("cannot be looked up: %w", err)
		}
		loaded = c.Of(object)
	}
	if loaded == nil {
		return nil, ErrNotRead
	}
	return loaded, nil
}

func (c *Catalogs) content(ctx context.Context, loaded *Loaded, name string, pin Pin) (*Bundle, error) {
	image := loaded.Image(name)
	if image == "" {
		return c.inCatalog(ctx, loaded, name)
	}
	reference, err := pinned(image, pin.Digest)
	if err != nil {
		return nil, err
	}
	store, err := c.images(ctx, loaded.origin)
	if err != nil {
		return nil, err
	}
	fetched, err := store.Fetch(ctx, reference, "manifests", "metadata", "tests")
	if err != nil {
		return nil, err
	}
	read, err := bundle.Read(fetched.Dir)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", image, fetched.Within(err))
	}
	return &Bundle{Bundle: read, Pin: Pin{image, fetched.Digest}}, nil
}

// pinned returns the reference of an image with a digest.
func pinned(image, digest string) (string, error) {
	if digest == "" {
		return image, nil
	}
	reference, err := name.ParseReference(image)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", image, err)
	}
	return reference.Context().Digest(digest).Name(), nil
}

// inCatalog reads a bundle whose objects are in the catalog.
func (c *Catalogs) inCatalog(ctx context.Context, loaded *Loaded, name string) (*Bundle, error) {
	fetched, err := c.again(ctx, loaded)
	if err != nil {
		return nil, err
	}
	if fetched.Digest != loaded.Digest {
		return nil, fmt.Errorf("%s: %s: the catalog has changed, and is not read again yet", name, loaded.origin.Place)
	}
	one, err := read(ctx, fetched, loaded.PackageOf(name), name)
	if err != nil {
		return nil, err
	}
	return fromProperties(one)
}

// again returns the files of a catalog that was read. A server is not asked again for what is kept.
func (c *Catalogs) again(ctx context.Context, loaded *Loaded) (*pulled.Image, error) {
	if loaded.origin.Image == "" {
		if kept, err := c.Images.Written(keptServed, loaded.Digest); kept != nil || err != nil {
			return kept, err
		}
	}
	origin := loaded.origin
	if origin.Image != "" { // its tag may name another image by now
		pinned, err := pinned(origin.Image, loaded.Digest)
		if err != nil {
			return nil, err
		}
		origin.Image = pinned
	}
	return c.fetch(ctx, origin)
}

// read reads a bundle from the cache of a catalog.
func read(ctx context.Context, fetched *pulled.Image, of, name string) (*catalog.Bundle, error) {
	opened, err := store.Open(ctx, store.Options{Sources: []string{fetched.Dir}, Dir: fetched.Cache})
	if err != nil {
		return nil, err
	}
	whole, err := opened.Content(of)
	if err := errors.Join(err, opened.Close()); err != nil {
		return nil, err
	}
	return whole.Bundle(name), nil
}

// fromProperties reads a bundle from the properties with its objects.
func fromProperties(one *catalog.Bundle) (*Bundle, error) {
	dir, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	sum := sha256.New()
	for i, property := range one.Properties {
		if property.Type != objectProperty {
			continue
		}
		var value struct{ Data string }
		if err := json.Unmarshal(property.Value, &value); err != nil {
			return nil, fmt.Errorf("%s: properties[%d]: %w", one.Name, i, err)
		}
		content, err := base64.StdEncoding.DecodeString(value.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: properties[%d]: %w", one.Name, i, err)
		}
		fmt.Fprintf(sum, "%d:", len(content)) // separates the objects
		sum.Write(content)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.yaml", i)), yamlsafe.Manifest(content), 0o600); err != nil {
			return nil, err
		}
	}
	made, err := bundle.Read(dir)
	if err != nil {
		return nil, err
	}
	return &Bundle{Bundle: made, Pin: Pin{Digest: objectsDigest + hex.EncodeToString(sum.Sum(nil))}}, nil
}
