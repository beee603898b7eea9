package crd

import (
	"context"
	"errors"
	"fmt"

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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// Kind is what a definition says of one version of a kind.
type Kind struct {
	schema.GroupVersionKind
	// ScalePath is the field of the wished number, as in "spec.replicas", empty where the kind
	// cannot be scaled.
	ScalePath string

	schema    *structural.Structural
	status    bool // a subresource
	validator validation.SchemaValidator
	rules     *cel.Validator
}

// Read returns the versions of a CustomResourceDefinition that are served.
func Read(definition *unstructured.Unstructured) ([]*Kind, error) {
	crd, err := kube.ReadCRD(definition)
	if err != nil {
		return nil, err
	}
	var kinds []*Kind
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if !version.Served {
			continue
		}
		kind := &Kind{GroupVersionKind: schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}}
		if err := kind.read(version); err != nil {
			return nil, fmt.Errorf("the definition %s, version %s: %w", crd.Name, version.Name, err)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func (k *Kind) read(version *apiextensionsv1.CustomResourceDefinitionVersion) error {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return errors.New("it has no schema")
	}
	if sub := version.Subresources; sub != nil {
		k.status = sub.Status != nil
		if sub.Scale != nil {
			k.ScalePath = trimDot(sub.Scale.SpecReplicasPath)
		}
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return err
	}
	var err error
	if k.schema, err = structural.NewStructural(&internal); err != nil {
		return err
	}
	if k.validator, _, err = validation.NewSchemaValidator(&internal); err != nil {
		return err
	}
	k.rules = cel.NewValidator(k.schema, true, celconfig.PerCallLimit)
	return nil
}

func trimDot(path string) string {
	if len(path) > 0 && path[0] == '.' {
		return path[1:]
	}
	return path
}

// Stored is an object as the API server keeps it: unknown fields dropped, defaults set.
func (k *Kind) Stored(object *unstructured.Unstructured) *unstructured.Unstructured {
	stored := object.DeepCopy()
	if k.status {
		delete(stored.Object, "status")
	}
	pruning.Prune(stored.Object, k.schema, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored.Object, k.schema)
	defaulting.Default(stored.Object, k.schema)
	return stored
}

// Admit says why the API server refuses an object, nil where it takes it: as a new one where old
// is nil, or else in place of the old one. Of metadata nothing is looked at.
func (k *Kind) Admit(object, old *unstructured.Unstructured) error {
	next := k.Stored(object)
	if old == nil {
		return k.create(next.Object).ToAggregate()
	}
	return k.update(next.Object, k.Stored(old).Object).ToAggregate()
}

// Foretold is what the API server will say of a change.
type Foretold struct {
	// Refused is why the change is refused, New why a new object of that content is, and Back why
	// the change back is, once the change was made. Nil: it is not.
	Refused, New, Back error
	// Same: what is stored is what was.
	Same bool
}

// Foretell returns what the API server will say of changes of one object: of each that the function
// is given. It is [Kind.Admit] several times, but for less.
func (k *Kind) Foretell(old *unstructured.Unstructured) func(changed *unstructured.Unstructured) Foretold {
	before := k.Stored(old).Object
	return func(changed *unstructured.Unstructured) Foretold {
		after := k.Stored(changed).Object
		told := Foretold{Refused: k.update(after, before).ToAggregate(), New: k.create(after).ToAggregate()}
		if told.Refused == nil {
			told.Back = k.update(before, after).ToAggregate()
			told.Same = equal(before, after)
		}
		return told
	}
}

func (k *Kind) create(fields map[string]any) field.ErrorList {
	wrong := validation.ValidateCustomResource(nil, fields, k.validator)
	wrong = append(wrong, k.unratcheted(fields)...)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, k.schema, fields)...)
	if len(wrong) > 0 || k.rules == nil {
		return wrong
	}
	broken, _ := k.rules.Validate(context.Background(), nil, k.schema, fields, nil, celconfig.RuntimeCELCostBudget)
	return broken
}

// update looks away, as the API server does, from what was wrong before already.
func (k *Kind) update(fields, old map[string]any) field.ErrorList {
	since := common.NewCorrelatedObject(fields, old, &model.Structural{Structural: k.schema})
	wrong := validation.ValidateCustomResourceUpdate(nil, fields, old, k.validator, validation.WithRatcheting(since))
	wrong = append(wrong, k.unratcheted(fields)...)
	if len(listtype.ValidateListSetsAndMaps(nil, k.schema, old)) == 0 {
		wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, k.schema, fields)...)
	}
	if len(wrong) > 0 || k.rules == nil {
		return wrong
	}
	broken, _ := k.rules.Validate(context.Background(), nil, k.schema, fields, old, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(since))
	return broken
}

// unratcheted are the checks that make no difference between new and old: embedded objects, and
// the number that scaling is about.
func (k *Kind) unratcheted(fields map[string]any) field.ErrorList {
	wrong := objectmeta.Validate(context.Background(), nil, fields, k.schema, false)
	if k.ScalePath == "" {
		return wrong
	}
	at := steps(k.ScalePath)
	replicas, there, err := unstructured.NestedInt64(fields, at...)
	path := field.NewPath(at[0], at[1:]...)
	switch {
	case err != nil:
		wrong = append(wrong, field.Invalid(path, nil, err.Error()))
	case there && (replicas < 0 || replicas > maxReplicas):
		wrong = append(wrong, field.Invalid(path, replicas, "is not a number of replicas"))
	}
	return wrong
}
