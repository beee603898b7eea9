package workload

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RefOf returns a reference to an object.
func RefOf(object *unstructured.Unstructured) Ref {
	return Ref{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// GroupKind returns the kind of the object, regardless of its version.
func (r Ref) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

// String returns the reference for people: Deployment/web.
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// is reports whether two references name the same object, regardless of the version.
func (r Ref) is(other Ref) bool {
	return r.GroupKind() == other.GroupKind() && r.Namespace == other.Namespace && r.Name == other.Name
}

// complete returns an error that names the missing part of a reference, if any.
func (r Ref) complete() error {
	for _, part := range []struct{ name, value string }{{"apiVersion", r.APIVersion}, {"kind", r.Kind}, {"name", r.Name}} {
		if part.value == "" {
			return fmt.Errorf("%s has no %s", cmp.Or(r.Kind, r.Name, "the object"), part.name)
		}
	}
	return nil
}
