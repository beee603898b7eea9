package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Light returns a copy of a bundle with a CSV that uses little memory: with the parts that checks of a whole package need. Places of findings
// about it are those of objects.
func (b *Bundle) Light() *Bundle {
	light := &Bundle{
		Dir: b.Dir, Package: b.Package, Channels: b.Channels, DefaultChannel: b.DefaultChannel,
		Object: lightObject(*b.Object), CSV: &CSV{},
	}
	light.CSV.Name, light.CSV.Spec.Version = b.CSV.Name, b.CSV.Spec.Version
	light.CSV.Spec.Replaces, light.CSV.Spec.Skips = b.CSV.Spec.Replaces, b.CSV.Spec.Skips
	for _, crd := range b.CRDs {
		light.CRDs = append(light.CRDs, &CRD{Object: *lightObject(crd.Object), packed: pack(crd.Typed)})
	}
	return light
}

// Forget drops the CRDs of a light bundle.
func (b *Bundle) Forget() { b.CRDs = nil }

func lightObject(object project.Object) *project.Object {
	light := &unstructured.Unstructured{Object: map[string]any{}}
	light.SetAPIVersion(object.GetAPIVersion())
	light.SetKind(object.GetKind())
	light.SetName(object.GetName())
	return &project.Object{Unstructured: light, File: object.File, Line: object.Line}
}

// pack compresses a definition, which takes a hundred times as much memory when it is decoded.
func pack(crd *apiextensionsv1.CustomResourceDefinition) []byte {
	if crd == nil {
		return nil
	}
	var packed bytes.Buffer
	out := gzip.NewWriter(&packed)
	if err := json.NewEncoder(out).Encode(crd); err != nil {
		panic(err) // it was decoded from JSON
	}
	if err := out.Close(); err != nil {
		panic(err) // memory
	}
	return packed.Bytes()
}

// definition returns the definition, or nil if it could not be decoded.
func (c *CRD) definition() (*apiextensionsv1.CustomResourceDefinition, error) {
	if c.Typed != nil || c.packed == nil {
		return c.Typed, nil
	}
	content, err := gzip.NewReader(bytes.NewReader(c.packed))
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.NewDecoder(io.LimitReader(content, maxSize)).Decode(crd); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", c.GetName(), err)
	}
	return crd, nil
}
