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

// Kind is the definition of one version of a kind.
type Kind struct {
	schema.GroupVersionKind
	// ScalePath is the path of the requested number of replicas, such as "spec.replicas". It is empty if the kind
	// cannot be scaled.
	ScalePath string

	schema *crdschema.Schema
}

// Read returns the served versions of a CustomResourceDefinition.
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

// Stored returns an object as the API server stores it: without unknown fields, and with defaults.
func (k *Kind) Stored(object *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: k.schema.Written(object.Object)}
}

// Admit returns the reason why the API server would reject an object, or nil if it would accept it: as a new object if old
// is nil, or else as an update of old. It does not check metadata.
func (k *Kind) Admit(object, old *unstructured.Unstructured) error {
	next := k.Stored(object)
	if old == nil {
		return k.schema.Create(context.Background(), next.Object).ToAggregate()
	}
	return k.schema.Update(context.Background(), next.Object, k.Stored(old).Object).ToAggregate()
}

// Foretold is a prediction of how the API server responds to a change.
type Foretold struct {
	// Refused is the reason why the change is rejected. New is the reason why a new object with that content is rejected.
	// Back is the reason why the change back is rejected after the change was made. Nil means accepted.
	Refused, New, Back error
	// Same means that the stored object does not change.
	Same bool
}

// Foretell returns a function that predicts the API server's response to a change of one object. It has the same result as
// several calls of [Kind.Admit], but costs less.
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
