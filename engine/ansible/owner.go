package ansible

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// owner is the object for which a run takes place.
type owner struct {
	kind            schema.GroupVersionKind
	namespace, name string
	uid             types.UID
}

// Annotations of Operator SDK on objects that cannot have an owner reference.
const (
	primaryAnnotation     = "operator-sdk/primary-resource"
	primaryTypeAnnotation = "operator-sdk/primary-resource-type"
)

// reaches reports whether garbage collection deletes objects in a namespace with the owner. An empty namespace means that the
// objects are cluster-scoped.
func (o owner) reaches(namespace string) bool { return o.namespace == "" || o.namespace == namespace }

// owns reports whether an object has the owner.
func (o owner) owns(object metav1.Object) bool {
	if slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == o.uid }) {
		return true
	}
	annotations := object.GetAnnotations()
	return annotations[primaryAnnotation] == encodedOwner(o.namespace, o.name) && annotations[primaryTypeAnnotation] == o.kind.GroupKind().String()
}

// addTo adds an owner reference to an encoded object in a namespace, or annotations where garbage collection does not reach
// it. It returns nil if the object is neither JSON nor YAML.
func (o owner) addTo(body []byte, namespace string) ([]byte, error) {
	var content map[string]any
	if err := yaml.Unmarshal(body, &content); err != nil || content == nil {
		return nil, nil //nolint:nilerr // another format
	}
	object := &unstructured.Unstructured{Object: content}
	if o.owns(object) {
		return body, nil
	}
	if !o.reaches(namespace) {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[primaryAnnotation], annotations[primaryTypeAnnotation] = encodedOwner(o.namespace, o.name), o.kind.GroupKind().String()
		object.SetAnnotations(annotations)
		return json.Marshal(content)
	}
	references := append(object.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: o.kind.GroupVersion().String(), Kind: o.kind.Kind, Name: o.name, UID: o.uid,
	})
	object.SetOwnerReferences(references)
	return json.Marshal(content)
}
