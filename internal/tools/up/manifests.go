package up

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/crdinstall"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// installCRDs applies the project's definitions and waits until they are served.
func installCRDs(ctx context.Context, in *installer, config *rest.Config, p *project.Project) error {
	var definitions []*unstructured.Unstructured
	for _, definition := range p.CRDs {
		whose, err := in.originOf(ctx, in.client.Resource(crdinstall.Resource), definition.GetName())
		if err != nil {
			return err
		}
		copied := definition.DeepCopy()
		in.sign(copied, whose)
		definitions = append(definitions, copied)
	}
	err := crdinstall.Install(ctx, config, manager, definitions...)
	in.mapper.Reset()
	var refused *crdinstall.Error
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

// rootKinds are the kinds that the project defines.
func rootKinds(p *project.Project) []tree.RootKind {
	var kinds []tree.RootKind
	for _, definition := range p.CRDs {
		resources := crdinstall.Resources(definition.Unstructured)
		if len(resources) == 0 {
			continue
		}
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		kinds = append(kinds, tree.RootKind{
			GroupVersionResource: resources[0],
			Kind:                 kind,
			Reports:              hasStatus(definition.Unstructured, resources[0].Version),
		})
	}
	return kinds
}

// hasStatus tells whether a version's schema describes a status.
func hasStatus(definition *unstructured.Unstructured, version string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, one := range versions {
		fields, _ := one.(map[string]any)
		if fields["name"] != version {
			continue
		}
		status, _, _ := unstructured.NestedMap(fields, "schema", "openAPIV3Schema", "properties", "status", "properties")
		return len(status) > 0
	}
	return false
}

// samples applies the project's samples, and again those that changed.
type samples struct {
	in      *installer
	applied map[string]*unstructured.Unstructured
}

// apply applies all samples that are not in the cluster as they are written now. All that
// are refused are in the error, each with its place.
func (s *samples) apply(ctx context.Context, p *project.Project) ([]tree.Sample, error) {
	var expected []tree.Sample
	var problems []error
	for _, sample := range namespacesFirst(p.Samples) {
		copied := sample.DeepCopy()
		if _, err := s.in.objects(copied); err != nil {
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

// namespacesFirst moves namespaces before what may be in them.
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
