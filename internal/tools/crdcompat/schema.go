package crdcompat

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// schema judges objects of one version as an API server does.
type schema struct {
	version    apiextensionsv1.CustomResourceDefinitionVersion
	structural *structural.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func newSchema(version apiextensionsv1.CustomResourceDefinitionVersion) (*schema, error) {
	s := &schema{version: version}
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return s, nil // an API server refuses it, and says so
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, err
	}
	var err error
	if s.structural, err = structural.NewStructural(internal); err != nil {
		return nil, fmt.Errorf("the schema of version %s: %w", version.Name, err)
	}
	if s.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
		return nil, fmt.Errorf("the schema of version %s: %w", version.Name, err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

// prune drops the fields that the schema lacks, and returns their paths.
func (s *schema) prune(fields map[string]any) []string {
	if s == nil || s.structural == nil {
		return nil
	}
	return pruning.PruneWithOptions(fields, s.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// wrong tells what would be refused of an object if it were created as it is. Fields that the schema lacks are
// dropped and defaults set.
func (s *schema) wrong(ctx context.Context, fields map[string]any) field.ErrorList {
	if s == nil || s.structural == nil {
		return nil
	}
	fields = runtime.DeepCopyJSON(fields)
	s.prune(fields)
	defaulting.PruneNonNullableNullsWithoutDefaults(fields, s.structural)
	defaulting.Default(fields, s.structural)
	errs := validation.ValidateCustomResource(nil, fields, s.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, fields)...)
	if s.rules != nil {
		broken, _ := s.rules.Validate(ctx, nil, s.structural, fields, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	return errs
}

// same tells whether two versions mean the same for objects.
func (s *schema) same(other *schema) bool {
	return s != nil && other != nil && reflect.DeepEqual(s.version.Schema, other.version.Schema)
}
