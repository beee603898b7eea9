package plan

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

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
		children, err := render.Children(objects.Typed, in, nil)
		if err != nil {
			continue // the version reports it, and nothing runs
		}
		for _, one := range children {
			all = append(all, one.Object)
		}
		servers, err := render.Servers(objects.Typed, in)
		if err != nil {
			continue
		}
		for _, one := range servers {
			all = append(all, one.Delegation()...)
		}
	}
	return all
}

// WithoutVersions returns objects without ClusterServiceVersions.
func WithoutVersions(all []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(all), func(one client.Object) bool {
		return one.GetObjectKind().GroupVersionKind().Kind == "ClusterServiceVersion"
	})
}
