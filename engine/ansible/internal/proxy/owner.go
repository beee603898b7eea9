package proxy

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Owner is the object for which a run takes place.
type Owner struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
}

// key returns the key of the owner in records.
func (o Owner) key() objectKey { return objectKey{kind: o.Kind, namespace: o.Namespace, name: o.Name} }

// Annotations of Operator SDK on objects that cannot have an owner reference.
const (
	primaryAnnotation     = "operator-sdk/primary-resource"
	primaryTypeAnnotation = "operator-sdk/primary-resource-type"
)

// reaches reports whether garbage collection deletes objects in a namespace with the owner. An empty namespace means that the
// objects are cluster-scoped.
func (o Owner) reaches(namespace string) bool { return o.Namespace == "" || o.Namespace == namespace }

// owns reports whether an object has the owner.
func (o Owner) owns(object metav1.Object) bool {
	if slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == o.UID }) {
		return true
	}
	annotations := object.GetAnnotations()
	return annotations[primaryAnnotation] == encodedOwner(o.Namespace, o.Name) && annotations[primaryTypeAnnotation] == o.Kind.GroupKind().String()
}

// addTo adds an owner reference to an encoded object in a namespace, or annotations where garbage collection does not reach
// it. It returns nil if the object is neither JSON nor YAML.
func (o Owner) addTo(body []byte, namespace string) ([]byte, error) {
	var content map[string]any
	encoded, err := yaml.YAMLToJSON(body)
	if err == nil {
		err = utiljson.Unmarshal(encoded, &content) // it keeps integers
	}
	if err != nil || content == nil {
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
		annotations[primaryAnnotation], annotations[primaryTypeAnnotation] = encodedOwner(o.Namespace, o.Name), o.Kind.GroupKind().String()
		object.SetAnnotations(annotations)
		return json.Marshal(content)
	}
	references := append(object.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Name: o.Name, UID: o.UID,
	})
	object.SetOwnerReferences(references)
	return json.Marshal(content)
}
