package crdcompat

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operon-framework/operon/internal/tools/crdschema"
)

// Verdict is an API server's judgment of an object.
type Verdict struct {
	// Unknown lists the paths of fields that the schema lacks. They would be dropped.
	Unknown []string
	// Wrong lists the reasons why the object would be rejected, with paths such as spec.size.
	Wrong field.ErrorList
}

// Judge returns what would happen to an object if it were created, without a cluster: it uses the schema of the object's
// version, including defaults and CEL rules. It fails if the definition does not have this version.
func Judge(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition, object *unstructured.Unstructured) (*Verdict, error) {
	wanted := object.GroupVersionKind().Version
	for _, version := range definition.Spec.Versions {
		if version.Name != wanted || !version.Served {
			continue
		}
		schema, err := crdschema.New(&version)
		if err != nil {
			return nil, fmt.Errorf("schema of %w", err)
		}
		verdict := &Verdict{Unknown: schema.Unknown(object.Object), Wrong: schema.Create(ctx, schema.Written(object.Object))}
		for _, err := range verdict.Wrong {
			err.Field = pathOf(err)
		}
		return verdict, nil
	}
	return nil, fmt.Errorf("%s has no version %s that is served", definition.Name, wanted)
}
