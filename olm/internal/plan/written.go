package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/render"
)

// Written returns all objects that plans and versions write for bundles.
func Written(bundles []*contents.Objects, in render.Group) []client.Object {
	var all []client.Object
	for _, objects := range bundles {
		for _, object := range objects.All() {
			all = append(all, object)
		}
		all = append(all, render.Permissions(objects.Typed, in)...)
		all = append(all, claimedRoles(objects)...)
		children, err := render.Children(objects.Typed, in, nil)
		if err != nil {
			continue // the version reports it, and nothing runs
		}
		for _, one := range children {
			all = append(all, one.Object)
		}
		all = append(all, render.Delegations(objects.Typed, in)...)
	}
	return all
}

// claimedRoles returns the ClusterRoles for users of the kinds that a bundle says to provide, and neither defines nor serves. Whoever may write a
// definition or an APIService controls what it serves, but not the kinds of others.
func claimedRoles(objects *contents.Objects) []client.Object {
	csv := *objects.Typed
	csv.Spec.APIServiceDefinitions.Owned = nil
	csv.Spec.CustomResourceDefinitions.Owned = slices.DeleteFunc(slices.Clone(csv.Spec.CustomResourceDefinitions.Owned), func(one v1alpha1.CRDDescription) bool {
		return slices.ContainsFunc(objects.CRDs, func(crd *unstructured.Unstructured) bool { return crd.GetName() == one.Name })
	})
	return render.APIRoles(&csv)
}

// WithoutVersions returns objects without ClusterServiceVersions.
func WithoutVersions(all []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(all), func(one client.Object) bool {
		return one.GetObjectKind().GroupVersionKind().Kind == "ClusterServiceVersion"
	})
}
