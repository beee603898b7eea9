package workload

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// split separates the operator's own objects from objects that they only refer to. The operator's own objects
// have kinds that the definitions define. If there are none, the operator manages built-in kinds
// of Kubernetes, and all objects are its own. CustomResourceDefinitions among the samples are neither.
func split(samples, crds []*unstructured.Unstructured) (own, others []*unstructured.Unstructured) {
	defined := map[schema.GroupKind]bool{}
	for _, crd := range crds {
		defined[defines(crd)] = true
	}
	for _, sample := range cleaned(samples) {
		if defined[RefOf(sample).GroupKind()] {
			own = append(own, sample)
			continue
		}
		others = append(others, sample)
	}
	if len(own) == 0 {
		return others, nil
	}
	return own, others
}

// defines returns the kind that a CustomResourceDefinition defines.
func defines(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// definitionOf returns the definition of an object's kind, or nil if there is none.
func definitionOf(object *unstructured.Unstructured, crds []*unstructured.Unstructured) *unstructured.Unstructured {
	i := slices.IndexFunc(crds, func(crd *unstructured.Unstructured) bool { return defines(crd) == RefOf(object).GroupKind() })
	if i < 0 {
		return nil
	}
	return crds[i]
}

// cleaned returns copies of samples without the fields that only a server sets, and without their
// namespace, because the run has its own. A second namespace stays. The texts of Secrets are encoded,
// as in the API server.
func cleaned(samples []*unstructured.Unstructured) []*unstructured.Unstructured {
	var clean []*unstructured.Unstructured
	home := ""
	for _, sample := range samples {
		if sample.GetKind() == "CustomResourceDefinition" {
			continue
		}
		object := sample.DeepCopy()
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(object.Object, "status")
		encode(object)
		if home == "" {
			home = object.GetNamespace()
		}
		if object.GetNamespace() == home {
			unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
		}
		clean = append(clean, object)
	}
	return clean
}

// encode moves the texts of a Secret to its data.
func encode(object *unstructured.Unstructured) {
	texts, there, err := unstructured.NestedStringMap(object.Object, "stringData")
	if !there || err != nil || object.GetKind() != "Secret" || object.GetAPIVersion() != "v1" {
		return
	}
	for key, text := range texts {
		_ = unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", key)
	}
	delete(object.Object, "stringData")
}

// refsOf returns references to objects in reverse order, because later objects may refer to earlier ones.
func refsOf(objects []*unstructured.Unstructured) []Ref {
	var refs []Ref
	for _, object := range slices.Backward(objects) {
		refs = append(refs, RefOf(object))
	}
	return refs
}
