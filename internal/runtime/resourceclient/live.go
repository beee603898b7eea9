package resourceclient

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/readiness"
)

// Children says how the children of a kind are read and stored.
type Children struct {
	Kind schema.GroupVersionKind
	// Whole means that the whole object is retained, because it is read.
	Whole bool
}

// Children returns the endpoint by which children of a kind are read and written.
func (w *Wire) Children(c Children) (Endpoint, error) { return w.Endpoint(c.Kind, w.Form(c)) }

// Form returns the cheapest form that contains everything that is retained.
func (w *Wire) Form(c Children) Form {
	switch {
	case !builtIn.Recognizes(c.Kind):
		return Loose
	case readiness.ByMetadata(c.Kind.GroupKind()) && !c.Whole:
		return Metadata
	}
	return Typed
}

// Live returns the retained state of a child that was read through the endpoint of Children. manager is the
// operator's field manager. The object must not be used otherwise afterwards.
func (c Children) Live(object runtime.Object, manager string) (*plan.Live, error) {
	found, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Kind.Kind, err)
	}
	live := plan.LiveOf(c.Kind, found, manager)
	live.State = c.state(object, found)
	if c.Whole {
		found.SetManagedFields(nil)
		object.GetObjectKind().SetGroupVersionKind(c.Kind)
		live.Object = object
	}
	return live, nil
}

func (c Children) state(object runtime.Object, found metav1.Object) readiness.State {
	if readiness.ByMetadata(c.Kind.GroupKind()) {
		return readiness.OfMetadata(found)
	}
	return readiness.Of(c.Kind, object)
}
