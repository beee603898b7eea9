// Package reference writes reference documentation in Markdown from an API's CustomResourceDefinitions and samples: one page
// for each group and version, for users who write its objects.
//
// A page describes each kind: its purpose, an example, and a table of fields for each type, with type, default and allowed
// values. A type links to the types of its fields. A type that is used in several places is described once. Types of
// Kubernetes itself, such as PodSpec or Condition, are not repeated: they link to the Kubernetes reference. See [Files].
package reference

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mark is in every page, so that pages that are no longer needed are recognized.
const Mark = "Written by operon generate --docs"

// Input is the source of the pages. It is not changed.
type Input struct {
	// Definitions are the project's definitions. The pages contain only what the definitions contain: pass them before their
	// descriptions are shortened (crd:maxDescLen).
	Definitions []*apiextensionsv1.CustomResourceDefinition
	// Samples are shown as examples, each on the page of its kind and version.
	Samples []*unstructured.Unstructured
}

// Files returns the pages of all served versions by name, GROUP_VERSION.md. The same input results in the same pages, byte
// for byte.
//
// It fails if a definition lacks its group, kind or versions.
func Files(input Input) (map[string][]byte, error) {
	kinds, err := kindsOf(input)
	if err != nil {
		return nil, err
	}
	pages := map[string][]byte{}
	for gv, there := range kinds {
		slices.SortFunc(there, func(a, b kind) int { return cmp.Compare(a.name, b.name) })
		pages[gv.Group+"_"+gv.Version+".md"] = newPage(gv, there).render()
	}
	return pages, nil
}

// kind is one version of a kind.
type kind struct {
	name       string
	definition *apiextensionsv1.CustomResourceDefinition
	version    *apiextensionsv1.CustomResourceDefinitionVersion
	schema     *apiextensionsv1.JSONSchemaProps
	samples    []*unstructured.Unstructured
}

func kindsOf(input Input) (map[schema.GroupVersion][]kind, error) {
	all := map[schema.GroupVersion][]kind{}
	var problems []error
	for _, definition := range input.Definitions {
		spec := &definition.Spec
		if spec.Group == "" || spec.Names.Kind == "" || len(spec.Versions) == 0 {
			problems = append(problems, fmt.Errorf("CustomResourceDefinition %q: it needs a group, a kind and a version to be documented", definition.Name))
			continue
		}
		for i := range spec.Versions {
			if !spec.Versions[i].Served {
				continue
			}
			gv := schema.GroupVersion{Group: spec.Group, Version: spec.Versions[i].Name}
			all[gv] = append(all[gv], newKind(definition, &spec.Versions[i], input.Samples))
		}
	}
	return all, errors.Join(problems...)
}

func newKind(definition *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion, samples []*unstructured.Unstructured) kind {
	made := kind{name: definition.Spec.Names.Kind, definition: definition, version: version, schema: &apiextensionsv1.JSONSchemaProps{}}
	if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
		made.schema = version.Schema.OpenAPIV3Schema
	}
	apiVersion := definition.Spec.Group + "/" + version.Name
	for _, sample := range samples {
		if sample.GetAPIVersion() == apiVersion && sample.GetKind() == made.name {
			made.samples = append(made.samples, sample)
		}
	}
	return made
}
