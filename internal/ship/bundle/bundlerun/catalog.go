package bundlerun

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/edit"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/change"
)

// key is the key of the catalog in the binary data of the ConfigMap.
const key = "catalog.json.gz"

// Limits of a catalog in bytes: compressed, so that the ConfigMap is accepted, and as the manager reads it.
const (
	maxPacked   = 1_000_000
	maxUnpacked = 64 << 20
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// catalog returns the ConfigMap with the catalog to which the bundle was added.
func (r *run) catalog(ctx context.Context) (*unstructured.Unstructured, error) {
	made, err := r.content(ctx)
	if err != nil {
		return nil, err
	}
	made.Check()
	if problems := made.AllProblems(); len(problems) > 0 {
		return nil, fmt.Errorf("the catalog with %s: %w", r.made.CSV, problems[0])
	}
	packed, err := pack(made)
	if err != nil {
		return nil, err
	}
	if len(packed) > maxPacked {
		return nil, fmt.Errorf("the bundles of %s have %d bytes compressed, and a ConfigMap holds %d: use a catalog image (operon bundle image, operon catalog render, operon catalog image)",
			r.made.Package, len(packed), maxPacked)
	}
	object := r.object("v1", "ConfigMap", r.made.Catalog, nil)
	object.Object["binaryData"] = map[string]any{key: base64.StdEncoding.EncodeToString(packed)}
	return object, nil
}

// content returns the catalog: that of the bundle, or that of earlier runs with the bundle.
func (r *run) content(ctx context.Context) (_ *catalog.Catalog, err error) {
	rendered, err := catalog.Render(nil, "", r.Bundle)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "operon-run-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	earlier, err := r.current(ctx, dir)
	if err != nil || !earlier {
		return rendered, err
	}
	if err := r.add(ctx, dir, rendered); err != nil {
		return nil, err
	}
	return catalog.Read(dir)
}

// current writes the catalog of earlier runs into a directory. It returns false if there is none.
func (r *run) current(ctx context.Context, dir string) (bool, error) {
	found, err := r.Client.Dynamic.Resource(configMaps).Namespace(r.Namespace).Get(ctx, r.made.Catalog, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return false, errors.New(olm.Missing("get", configMaps, r.Namespace, r.made.Catalog))
	case err != nil:
		return false, fmt.Errorf("read the ConfigMap %s/%s: %w", r.Namespace, r.made.Catalog, err)
	}
	if found.GetLabels()[change.LabelRun] != r.made.Package {
		return false, r.foreign("ConfigMap")
	}
	content, err := unpack(found)
	if err != nil {
		return false, fmt.Errorf("ConfigMap %s/%s: %w; delete it and the CatalogSource of the same name to begin again", r.Namespace, r.made.Catalog, err)
	}
	into := filepath.Join(dir, r.made.Package)
	if err := os.Mkdir(into, 0o700); err != nil {
		return false, err
	}
	return true, os.WriteFile(filepath.Join(into, "catalog.json"), content, 0o600)
}

// foreign is the error for an object that another client created.
func (r *run) foreign(kind string) error {
	return fmt.Errorf("the %s %s/%s exists, and `operon bundle run` did not create it for the package %s: remove it, or use another namespace", kind, r.Namespace, r.made.Catalog, r.made.Package)
}

// add adds the bundle to the catalog in a directory, unless it has it already.
func (r *run) add(ctx context.Context, dir string, rendered *catalog.Catalog) error {
	before, err := catalog.Read(dir)
	if err != nil {
		return err
	}
	if of := before.Package(r.made.Package); of != nil && of.Bundle(r.made.CSV) != nil {
		same, err := equal(of.Bundle(r.made.CSV), rendered.Package(r.made.Package).Bundle(r.made.CSV))
		if err == nil && !same {
			err = fmt.Errorf("%s was run with other content: give it another version, or remove the operator first, with `operon olm remove %s -n %s`", r.made.CSV, r.made.Subscription, r.Namespace)
		}
		return err
	}
	_, err = edit.Add(ctx, edit.Options{Catalog: dir, Read: []*bundle.Bundle{r.Bundle}, Channels: []string{r.channel()}})
	return err
}

// equal reports whether two bundles have the same content.
func equal(a, b *catalog.Bundle) (bool, error) {
	var contents [2]any
	for i, one := range []*catalog.Bundle{a, b} {
		text, err := json.Marshal(one)
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal(text, &contents[i]); err != nil {
			return false, err
		}
	}
	return reflect.DeepEqual(contents[0], contents[1]), nil
}

func pack(made *catalog.Catalog) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	err = errors.Join(made.Write(packed, catalog.JSON), packed.Close())
	return out.Bytes(), err
}

// unpack returns the catalog in a ConfigMap.
func unpack(from *unstructured.Unstructured) ([]byte, error) {
	text, _, err := unstructured.NestedString(from.Object, "binaryData", key)
	if err != nil {
		return nil, err
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("binaryData[%s]: %w", key, err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err == nil && len(content) > maxUnpacked {
		err = fmt.Errorf("binaryData[%s] has more than %d MiB", key, maxUnpacked>>20)
	}
	return content, err
}
