package workload

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RefOf names an object.
func RefOf(object *unstructured.Unstructured) Ref {
	return Ref{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// GroupKind is the kind that the object is of, whatever its version.
func (r Ref) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

// String is the name for people: Deployment/web.
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// is reports whether two names are of one object, in whatever version.
func (r Ref) is(other Ref) bool {
	return r.GroupKind() == other.GroupKind() && r.Namespace == other.Namespace && r.Name == other.Name
}

// complete says what is missing with a name.
func (r Ref) complete() error {
	for _, part := range []struct{ name, value string }{{"apiVersion", r.APIVersion}, {"kind", r.Kind}, {"name", r.Name}} {
		if part.value == "" {
			return fmt.Errorf("%s has no %s", cmp.Or(r.Kind, r.Name, "the object"), part.name)
		}
	}
	return nil
}
