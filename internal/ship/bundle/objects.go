package bundle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/operon-framework/operon/internal/olm/contents"
)

// Objects returns the objects that the lifecycle manager writes for the bundle in a namespace. properties are those of the catalog, as JSON, or
// empty, and replaces is the version that is installed, or empty. The error says why the manager refuses the bundle.
func (b *Bundle) Objects(namespace, properties, replaces string) (*contents.Objects, error) {
	if b.Object == nil {
		if len(b.Problems) > 0 {
			return nil, fmt.Errorf("the bundle has no ClusterServiceVersion: %w", b.Problems[0])
		}
		return nil, errors.New("the bundle has no ClusterServiceVersion")
	}
	from := contents.Bundle{CSV: b.Object.Unstructured}
	for _, crd := range b.CRDs {
		if crd.Typed == nil {
			return nil, fmt.Errorf("the CustomResourceDefinition %s cannot be read", crd.GetName())
		}
		from.CRDs = append(from.CRDs, contents.Definition{CustomResourceDefinition: crd.Typed, Converted: crd.conversion()})
	}
	for i := range b.Others {
		from.Others = append(from.Others, b.Others[i].Unstructured)
	}
	return contents.Of(from, namespace, properties, replaces)
}

// conversion describes the conversion of a definition from v1beta1, or returns an empty string.
func (c *CRD) conversion() string {
	if c.GetAPIVersion() != crdV1Beta1 {
		return ""
	}
	text := fmt.Sprintf("CustomResourceDefinition %s is written in apiextensions.k8s.io/v1, because Kubernetes 1.22 removed v1beta1", c.GetName())
	if len(c.Converted) == 0 {
		return text
	}
	return text + ": " + strings.Join(c.Converted, ", ")
}

// converted describes the conversion for the finding about a definition.
func (c *CRD) converted() string {
	switch {
	case c.Typed == nil:
		return ""
	case len(c.Converted) == 0:
		return ", which the lifecycle manager converts without other changes"
	}
	return ", which the lifecycle manager converts: " + strings.Join(c.Converted, ", ")
}
