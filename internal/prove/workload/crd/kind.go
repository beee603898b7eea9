package crd

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/crdschema"
	"github.com/operon-framework/operon/internal/tools/kube"
)

// Kind is what a definition says of one version of a kind.
type Kind struct {
	schema.GroupVersionKind
	// ScalePath is the field of the wished number, as in "spec.replicas", empty where the kind
	// cannot be scaled.
	ScalePath string

	schema *crdschema.Schema
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
		var err error
		if kind.schema, err = crdschema.New(version); err != nil {
			return nil, fmt.Errorf("the definition %s, %w", crd.Name, err)
		}
		if kind.schema == nil {
			return nil, fmt.Errorf("the definition %s, version %s: it has no schema", crd.Name, version.Name)
		}
		if version.Subresources != nil && version.Subresources.Scale != nil {
			kind.ScalePath = strings.TrimPrefix(version.Subresources.Scale.SpecReplicasPath, ".")
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Stored is an object as the API server keeps it: unknown fields dropped, defaults set.
func (k *Kind) Stored(object *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: k.schema.Written(object.Object)}
}

// Admit says why the API server refuses an object, nil where it takes it: as a new one where old
// is nil, or else in place of the old one. Of metadata nothing is looked at.
func (k *Kind) Admit(object, old *unstructured.Unstructured) error {
	next := k.Stored(object)
	if old == nil {
		return k.schema.Create(context.Background(), next.Object).ToAggregate()
	}
	return k.schema.Update(context.Background(), next.Object, k.Stored(old).Object).ToAggregate()
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
// is given. It is [Kind.Admit] several times, except for less.
func (k *Kind) Foretell(old *unstructured.Unstructured) func(changed *unstructured.Unstructured) Foretold {
	before := k.Stored(old).Object
	return func(changed *unstructured.Unstructured) Foretold {
		after := k.Stored(changed).Object
		told := Foretold{Refused: k.schema.Update(context.Background(), after, before).ToAggregate(), New: k.schema.Create(context.Background(), after).ToAggregate()}
		if told.Refused == nil {
			told.Back = k.schema.Update(context.Background(), before, after).ToAggregate()
			told.Same = equal(before, after)
		}
		return told
	}
}
