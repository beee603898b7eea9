package up

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// installCRDs applies the project's definitions and waits until they are served.
func installCRDs(ctx context.Context, in *installer, p *project.Project) error {
	var definitions []*unstructured.Unstructured
	for _, definition := range p.CRDs {
		whose, err := in.originOf(ctx, definition.Unstructured)
		if err != nil {
			return err
		}
		copied := definition.DeepCopy()
		in.sign(copied, whose)
		definitions = append(definitions, copied)
	}
	err := in.InstallCRDs(ctx, definitions...)
	var refused *kube.CRDError
	if !errors.As(err, &refused) {
		return err
	}
	for _, definition := range p.CRDs {
		if definition.GetName() == refused.Name {
			return fmt.Errorf("CustomResourceDefinition %s: %w", refused.Name, placed(definition, refused.Err))
		}
	}
	return err
}

// rootKinds returns the kinds that the project defines.
func rootKinds(p *project.Project) ([]tree.RootKind, error) {
	var kinds []tree.RootKind
	for _, definition := range p.CRDs {
		crd, err := kube.ReadCRD(definition.Unstructured)
		if err != nil {
			return nil, placed(definition, err)
		}
		if served := crd.Served(); len(served) > 0 {
			kinds = append(kinds, tree.RootKind{
				GroupVersionResource: served[0],
				Kind:                 crd.Spec.Names.Kind,
				Reports:              hasStatus(crd.Schema(served[0].Version)),
			})
		}
	}
	return kinds, nil
}

// hasStatus reports whether a schema has room for a status: described fields or, as in the CRDs of Operator SDK's Helm and
// Ansible projects, any fields.
func hasStatus(schema *apiextensionsv1.JSONSchemaProps) bool {
	if schema == nil {
		return false
	}
	status := schema.Properties["status"]
	return len(status.Properties) > 0 || ptr.Deref(status.XPreserveUnknownFields, false)
}

// samples applies the project's samples, and applies changed ones again.
type samples struct {
	in      *installer
	applied map[string]*unstructured.Unstructured
}

// apply applies all samples that have changed since they were applied. The error contains all rejected samples, each with its
// place.
func (s *samples) apply(ctx context.Context, p *project.Project) ([]tree.Sample, error) {
	var expected []tree.Sample
	var problems []error
	for _, sample := range namespacesFirst(p.Samples) {
		copied := sample.DeepCopy()
		if err := s.in.Place(copied, s.in.namespace); err != nil {
			problems = append(problems, placed(sample, err))
			continue
		}
		expected = append(expected, tree.Sample{GroupVersionKind: copied.GroupVersionKind(), Namespace: copied.GetNamespace(), Name: copied.GetName()})
		key := copied.GroupVersionKind().GroupKind().String() + " " + copied.GetNamespace() + "/" + copied.GetName()
		if before := s.applied[key]; before != nil && reflect.DeepEqual(before.Object, copied.Object) {
			continue
		}
		if _, err := s.in.apply(ctx, copied); err != nil {
			problems = append(problems, placed(sample, err))
			continue
		}
		s.applied[key] = copied
	}
	return expected, errors.Join(problems...)
}

// namespacesFirst moves namespaces before objects that may be in them.
func namespacesFirst(all []project.Object) []project.Object {
	namespaces, others := []project.Object{}, []project.Object{}
	for _, object := range all {
		if object.GroupVersionKind() == (schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}) {
			namespaces = append(namespaces, object)
			continue
		}
		others = append(others, object)
	}
	return append(namespaces, others...)
}
