package apply

import (
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/plan"
)

// ManagedByLabel is the recommended label by which tools tell who manages an object.
const ManagedByLabel = "app.kubernetes.io/managed-by"

// Prepare turns a composed child into what is applied: with its kind, the owner's
// namespace unless it has one, the labels by which it is found again, an owner reference
// where garbage collection can use it, and the hash of all that. The child itself is not
// changed.
func (a *Applier) Prepare(owner client.Object, kind schema.GroupVersionKind, child client.Object) (*unstructured.Unstructured, error) {
	object, err := a.toUnstructured(child)
	if err != nil {
		return nil, err
	}
	namespaced, err := a.namespaced(object)
	if err != nil {
		return nil, err
	}
	if object.GetName() == "" {
		return nil, fmt.Errorf("a child of kind %s has no name", object.GetKind())
	}
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(owner.GetNamespace())
	}
	setLabel(object, plan.OwnerLabel, string(owner.GetUID()))
	if object.GetLabels()[ManagedByLabel] == "" {
		setLabel(object, ManagedByLabel, a.manager)
	}
	if Collected(owner, object) {
		object.SetOwnerReferences(append(object.GetOwnerReferences(), *metav1.NewControllerRef(owner, kind)))
	}
	hash, err := plan.Hash(object)
	if err != nil {
		return nil, err
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[plan.HashAnnotation] = hash
	object.SetAnnotations(annotations)
	return object, nil
}

// Collected tells whether garbage collection removes the child when its owner goes: it
// does within a namespace, and everywhere for an owner without one.
func Collected(owner, child client.Object) bool {
	return owner.GetNamespace() == "" || owner.GetNamespace() == child.GetNamespace()
}

func (a *Applier) toUnstructured(child client.Object) (*unstructured.Unstructured, error) {
	kind, err := apiutil.GVKForObject(child, a.client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("a child of type %T: %w; register its API with operon.API", child, err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child.DeepCopyObject())
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Kind, child.GetName(), err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(kind)
	// A Go struct writes these although nobody set them.
	delete(object.Object, "status")
	dropNulls(object.Object)
	foldStringData(object)
	return object, nil
}

// foldStringData writes a Secret's stringData as data, which the server does as it stores
// it. Applied as it is, nobody would own the data, and so nobody would put it back.
func foldStringData(object *unstructured.Unstructured) {
	if object.GroupVersionKind() != (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		return
	}
	plain, ok := object.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, ok := object.Object["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		object.Object["data"] = data
	}
	for key, value := range plain {
		if value, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
	}
	delete(object.Object, "stringData")
}

// dropNulls removes fields that are null: to apply one means to own an absent field.
func dropNulls(fields map[string]any) {
	for key, value := range fields {
		switch value := value.(type) {
		case nil:
			delete(fields, key)
		case map[string]any:
			dropNulls(value)
		case []any:
			for _, element := range value {
				if element, ok := element.(map[string]any); ok {
					dropNulls(element)
				}
			}
		}
	}
}

func (a *Applier) namespaced(object *unstructured.Unstructured) (bool, error) {
	namespaced, err := a.client.IsObjectNamespaced(object)
	var unknown *meta.NoKindMatchError
	if errors.As(err, &unknown) {
		return false, fmt.Errorf("the cluster has no kind %s in %s; is its CRD installed?", object.GetKind(), object.GetAPIVersion())
	}
	return namespaced, err
}

func setLabel(object *unstructured.Unstructured, key, value string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	object.SetLabels(labels)
}
