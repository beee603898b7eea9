package crdcompat

import (
	"context"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operon-framework/operon/internal/tools/crdschema"
)

// schema judges stored objects of one version like an API server.
type schema struct {
	*crdschema.Schema
	version apiextensionsv1.CustomResourceDefinitionVersion
}

func newSchema(version apiextensionsv1.CustomResourceDefinitionVersion) (*schema, error) {
	made, err := crdschema.New(&version)
	if err != nil {
		return nil, fmt.Errorf("schema of %w", err)
	}
	return &schema{made, version}, nil
}

// prune returns the paths of fields that the schema lacks.
func (s *schema) prune(fields map[string]any) []string {
	if s == nil {
		return nil
	}
	return s.Unknown(fields)
}

// wrong returns why an object would be rejected if it were created as it is stored.
func (s *schema) wrong(ctx context.Context, fields map[string]any) field.ErrorList {
	if s == nil {
		return nil
	}
	return s.Create(ctx, s.Normalized(fields))
}

// refused returns the identities of errors because of which each write of a stored object would be rejected. API servers tolerate an error
// in a part that a write does not change. They never compare the whole object, because no schema describes its metadata. An error of a type
// would still make server-side apply fail.
func (s *schema) refused(ctx context.Context, fields map[string]any) map[string]bool {
	found := map[string]bool{}
	if s == nil {
		return found
	}
	now := s.Normalized(fields)
	for _, err := range s.Update(ctx, now, now) {
		found[identity(err)] = true
	}
	for _, err := range s.Create(ctx, now) {
		found[identity(err)] = found[identity(err)] || err.Type == field.ErrorTypeTypeInvalid
	}
	return found
}

// same reports whether two versions have the same schema.
func (s *schema) same(other *schema) bool {
	return s != nil && other != nil && reflect.DeepEqual(s.version.Schema, other.version.Schema)
}
