package operontest

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// CRDs makes the API in memory serve the CRDs in files and directories: it sets defaults, and rejects what their
// schemas reject, so that invalid fixtures and children are found. It also rejects a field that a schema does not
// have, which a real API server would drop. CEL rules are not evaluated.
func (o *Operator[T]) CRDs(paths ...string) *Operator[T] {
	with := *o
	with.definitions = slices.Concat(o.definitions, paths)
	return &with
}

// definition contains the fields of a CustomResourceDefinition that a test needs.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Schema struct {
				OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// schemas contains the schemas of the defined kinds.
type schemas map[schema.GroupVersionKind]*spec.Schema

// defined reads the operator's definitions: the kinds, and their schemas.
func (o *Operator[T]) defined() ([]kind, schemas, error) {
	kinds, all, err := definedIn(o.definitions)
	return slices.Concat(o.kinds, kinds), all, err
}

// definedIn reads the definitions in files and directories.
func definedIn(paths []string) ([]kind, schemas, error) {
	var kinds []kind
	all := schemas{}
	for _, path := range paths {
		found, err := documentsIn(path)
		if err != nil {
			return nil, nil, err
		}
		for _, document := range found {
			if document.Kind != "CustomResourceDefinition" {
				continue
			}
			var crd definition
			if err := yaml.Unmarshal(document.text, &crd); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", path, err)
			}
			kinds = append(kinds, crd.register(all)...)
		}
	}
	if len(paths) > 0 && len(all) == 0 {
		return nil, nil, fmt.Errorf("no CustomResourceDefinitions in %q", paths)
	}
	return kinds, all, nil
}

func (d definition) register(all schemas) []kind {
	var kinds []kind
	for i := range d.Spec.Versions {
		version := &d.Spec.Versions[i]
		served := schema.GroupVersionKind{Group: d.Spec.Group, Version: version.Name, Kind: d.Spec.Names.Kind}
		all[served] = &version.Schema.OpenAPIV3Schema
		kinds = append(kinds, kind{served, d.Spec.Scope == "Namespaced"})
	}
	return kinds
}

// admit sets defaults in an object that will be stored, or rejects it as an API server does.
func (all schemas) admit(scheme *runtime.Scheme, object runtime.Object) error {
	served, err := apiutil.GVKForObject(object, scheme)
	if err != nil || all[served] == nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	setDefaults(fields, all[served])
	if wrong := check(fields, all[served]); len(wrong) > 0 {
		name := (&unstructured.Unstructured{Object: fields}).GetName()
		return apierrors.NewInvalid(served.GroupKind(), name, wrong)
	}
	return into(fields, object)
}

// into sets the fields of an object.
func into(fields map[string]any, object runtime.Object) error {
	if loose, ok := object.(*unstructured.Unstructured); ok {
		loose.Object = fields
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, object)
}
