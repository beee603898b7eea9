// Package crdschema validates custom resources as an API server does, without a cluster: pruning, defaults, the
// OpenAPI schema, lists and maps, embedded objects, replicas and CEL rules, for new and for changed objects.
package crdschema

import (
	"context"
	"fmt"
	"math"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Schema is the schema of one version of a CustomResourceDefinition. A nil Schema, of a version without a schema, accepts
// everything.
type Schema struct {
	*structural.Structural

	validator validation.SchemaValidator
	rules     *cel.Validator
	status    bool // a subresource
	replicas  []string
}

// New reads the schema of a version. It returns nil if the version has none.
func New(version *apiextensionsv1.CustomResourceDefinitionVersion) (*Schema, error) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, nil
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, fmt.Errorf("version %s: %w", version.Name, err)
	}
	s := &Schema{}
	var err error
	if s.Structural, err = structural.NewStructural(internal); err != nil {
		return nil, fmt.Errorf("version %s: %w", version.Name, err)
	}
	if s.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
		return nil, fmt.Errorf("version %s: %w", version.Name, err)
	}
	s.rules = cel.NewValidator(s.Structural, true, celconfig.PerCallLimit)
	if sub := version.Subresources; sub != nil {
		s.status = sub.Status != nil
		if sub.Scale != nil {
			s.replicas = strings.Split(strings.TrimPrefix(sub.Scale.SpecReplicasPath, "."), ".")
		}
	}
	return s, nil
}

// Unknown returns the paths of fields that the schema lacks. An API server drops these fields.
func (s *Schema) Unknown(fields map[string]any) []string {
	if s == nil {
		return nil
	}
	return pruning.PruneWithOptions(runtime.DeepCopyJSON(fields), s.Structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// Normalized returns a copy without unknown fields and with defaults, as an API server serves a stored object.
func (s *Schema) Normalized(fields map[string]any) map[string]any {
	fields = runtime.DeepCopyJSON(fields)
	if s == nil {
		return fields
	}
	pruning.Prune(fields, s.Structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(fields, s.Structural)
	defaulting.Default(fields, s.Structural)
	return fields
}

// Written returns the object that an API server stores when a client writes an object: the normalized object, without its status if the
// status is a subresource.
func (s *Schema) Written(fields map[string]any) map[string]any {
	if s != nil && s.status {
		if _, there := fields["status"]; there {
			fields = runtime.DeepCopyJSON(fields)
			delete(fields, "status")
		}
	}
	return s.Normalized(fields)
}

// Create returns the reasons why an API server rejects a new object, which must be normalized. It ignores metadata.
func (s *Schema) Create(ctx context.Context, fields map[string]any) field.ErrorList {
	if s == nil {
		return nil
	}
	wrong := validation.ValidateCustomResource(nil, fields, s.validator)
	wrong = append(wrong, s.unratcheted(ctx, fields)...)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, s.Structural, fields)...)
	return s.withRules(ctx, wrong, fields, nil)
}

// Update returns the reasons why an API server rejects a change of an object. Both must be normalized. Like an API server, it
// tolerates most errors that the old object has, too.
func (s *Schema) Update(ctx context.Context, fields, old map[string]any) field.ErrorList {
	if s == nil {
		return nil
	}
	since := common.NewCorrelatedObject(fields, old, &model.Structural{Structural: s.Structural})
	wrong := validation.ValidateCustomResourceUpdate(nil, fields, old, s.validator, validation.WithRatcheting(since))
	wrong = append(wrong, s.unratcheted(ctx, fields)...)
	if len(listtype.ValidateListSetsAndMaps(nil, s.Structural, old)) == 0 {
		wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, s.Structural, fields)...)
	}
	return s.withRules(ctx, wrong, fields, old, cel.WithRatcheting(since))
}

// withRules adds violations of CEL rules. Rules are not evaluated on an object whose types or sizes are wrong.
func (s *Schema) withRules(ctx context.Context, wrong field.ErrorList, fields, old map[string]any, options ...cel.Option) field.ErrorList {
	for _, err := range wrong {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return wrong
		}
	}
	if s.rules == nil {
		return wrong
	}
	var before any // a nil interface if there is no old object
	if old != nil {
		before = old
	}
	broken, _ := s.rules.Validate(ctx, nil, s.Structural, fields, before, celconfig.RuntimeCELCostBudget, options...)
	return append(wrong, broken...)
}

// unratcheted executes the checks that are the same for new and changed objects: embedded objects and the number of replicas.
func (s *Schema) unratcheted(ctx context.Context, fields map[string]any) field.ErrorList {
	if err := objectmeta.Coerce(nil, fields, s.Structural, false, false); err != nil {
		return field.ErrorList{err}
	}
	wrong := objectmeta.Validate(ctx, nil, fields, s.Structural, false)
	if len(s.replicas) == 0 {
		return wrong
	}
	path := field.NewPath(s.replicas[0], s.replicas[1:]...)
	replicas, there, err := unstructured.NestedInt64(fields, s.replicas...)
	switch {
	case err != nil:
		wrong = append(wrong, field.Invalid(path, nil, err.Error()))
	case there && (replicas < 0 || replicas > math.MaxInt32):
		wrong = append(wrong, field.Invalid(path, replicas, "must be between 0 and 2147483647"))
	}
	return wrong
}
