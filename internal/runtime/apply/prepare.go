package apply

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Prepare returns the object to apply for a composed child: with its kind, with the owner's namespace unless it has one, with
// the labels by which it is found, with an owner reference if garbage collection can use it, and with a hash of all this. The
// child itself is not changed. A resource version is kept, but is no part of the hash. The error is an *InvalidError if the child is not valid, and a *resourceclient.MissingKindError if the
// cluster does not have its kind.
func (a *Applier) Prepare(owner client.Object, kind schema.GroupVersionKind, child client.Object, options plan.Options) (*unstructured.Unstructured, error) {
	object, err := a.Fields(child)
	if err != nil {
		return nil, err
	}
	if object.GetName() == "" {
		return nil, &InvalidError{Message: fmt.Sprintf("a child of kind %s has no name", object.GetKind())}
	}
	if err := a.place(owner, object); err != nil {
		return nil, err
	}
	a.mark(owner, kind, object, options)
	version := object.GetResourceVersion()
	object.SetResourceVersion("")
	hash, err := plan.Hash(object)
	if err != nil {
		return nil, err
	}
	setAnnotation(object, plan.HashAnnotation, hash)
	object.SetResourceVersion(version)
	return object, nil
}

// mark records the owner of the child, and the settings that were composed besides its fields.
func (a *Applier) mark(owner client.Object, kind schema.GroupVersionKind, object *unstructured.Unstructured, options plan.Options) {
	setLabel(object, plan.OwnerLabel, string(owner.GetUID()))
	setLabel(object, plan.PartOfLabel, plan.ApplySetID(plan.ID{GroupKind: kind.GroupKind(), Namespace: owner.GetNamespace(), Name: owner.GetName()}))
	if a.Fenced {
		setLabel(object, plan.ShardLabel, shardtable.BucketName(shardtable.Bucket(owner.GetUID())))
	}
	if object.GetLabels()[plan.ManagedByLabel] == "" {
		setLabel(object, plan.ManagedByLabel, a.Manager)
	}
	if len(options.After) > 0 {
		setAnnotation(object, plan.AfterAnnotation, plan.Keys(options.After))
	}
	if options.Has(plan.LeaveBehind) {
		setAnnotation(object, plan.RemovalAnnotation, plan.RemovalOrphan)
		return
	}
	if reaches(owner, object) {
		others := slices.DeleteFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.GetUID() })
		object.SetOwnerReferences(append(others, *metav1.NewControllerRef(owner, kind)))
	}
}

// Identify returns the ID that the child will have after Prepare.
func (a *Applier) Identify(owner, child client.Object) (plan.ID, error) {
	kind, err := a.kindOf(child)
	if err != nil {
		return plan.ID{}, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetName(child.GetName())
	object.SetNamespace(child.GetNamespace())
	err = a.place(owner, object)
	return plan.Of(object), err
}

// place sets the namespace of a child to its owner's, unless the child already has one or its kind is cluster-scoped.
func (a *Applier) place(owner client.Object, object *unstructured.Unstructured) error {
	namespaced, err := a.namespaced(object)
	switch {
	case err != nil:
		return err
	case !namespaced:
		object.SetNamespace("")
	case object.GetNamespace() == "" && owner.GetNamespace() == "":
		return &InvalidError{Message: fmt.Sprintf("%s %s has no namespace, and its owner is cluster-scoped", object.GetKind(), object.GetName())}
	case object.GetNamespace() == "":
		object.SetNamespace(owner.GetNamespace())
	}
	return nil
}

// Collected reports whether garbage collection deletes the child with its owner, because the child has a reference to the
// owner.
func Collected(owner client.Object, child *unstructured.Unstructured) bool {
	return slices.ContainsFunc(child.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.GetUID() })
}

// reaches reports whether garbage collection can follow a reference from child to owner: within a namespace, or to a
// cluster-scoped owner.
func reaches(owner, child client.Object) bool {
	return owner.GetNamespace() == "" || owner.GetNamespace() == child.GetNamespace()
}

func (a *Applier) kindOf(child client.Object) (schema.GroupVersionKind, error) {
	kind, err := apiutil.GVKForObject(child, a.Client.Scheme())
	switch {
	case runtime.IsMissingKind(err):
		return kind, &InvalidError{Message: fmt.Sprintf("child %q has no kind: set apiVersion and kind", child.GetName())}
	case err != nil:
		return kind, &InvalidError{Message: fmt.Sprintf("a child of type %T: %v; register its API with operon.API", child, err)}
	}
	return kind, nil
}

// Fields returns the fields of a child that were set, with its kind. The child itself is not changed.
func (a *Applier) Fields(child client.Object) (*unstructured.Unstructured, error) {
	kind, err := a.kindOf(child)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child.DeepCopyObject())
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Kind, child.GetName(), err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(kind)
	// A Go struct encodes these although they were not set.
	delete(object.Object, "status")
	dropNulls(object.Object)
	foldStringData(object)
	return object, nil
}

// foldStringData moves the stringData of a Secret to data, as the server does when it stores the Secret. If stringData were
// applied, no manager would own the data, and drift would not be reverted.
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

// dropNulls removes fields that are null: applying a null means owning an absent field.
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
	namespaced, err := a.Client.IsObjectNamespaced(object)
	var unknown *meta.NoKindMatchError
	if errors.As(err, &unknown) {
		return false, &resourceclient.MissingKindError{Kind: object.GroupVersionKind()}
	}
	return namespaced, err
}

func setLabel(object *unstructured.Unstructured, key, value string) {
	object.SetLabels(with(object.GetLabels(), key, value))
}

func setAnnotation(object *unstructured.Unstructured, key, value string) {
	object.SetAnnotations(with(object.GetAnnotations(), key, value))
}

func with(all map[string]string, key, value string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}
