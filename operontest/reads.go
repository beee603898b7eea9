package operontest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// reads serves the reads of one object's reconciles from an API, and reports when any of the results has changed since.
type reads struct {
	api       client.Client
	namespace string

	// read describes for people what was read besides children.
	read []string
	// held contains what is watched. used contains what the current reconcile has read of it.
	held map[string]watched
	used map[string]bool
}

// watched is a read with its result at that time: a text that changes when the result does.
type watched struct {
	look  func(context.Context) (state string, err error)
	state string
}

func newReads(api client.Client, namespace string) *reads {
	return &reads{api: api, namespace: namespace, held: map[string]watched{}}
}

// begin begins the reads of a reconcile.
func (r *reads) begin(types.NamespacedName) author.Reads {
	r.used = map[string]bool{}
	return r
}

// watch records a read under a name.
func (r *reads) watch(name string, w watched) {
	r.held[name], r.used[name] = w, true
}

// Children returns the objects of a kind that have an owner's label.
func (r *reads) Children(ctx context.Context, kind resourceclient.Children, owner types.UID, _ ...string) ([]*plan.Live, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.Kind.GroupVersion().WithKind(kind.Kind.Kind + "List"))
	mine := client.MatchingLabels{plan.OwnerLabel: string(owner)}
	if err := r.api.List(ctx, list, mine); err != nil {
		return nil, err
	}
	r.watch("children "+kind.Kind.String(), watched{look: r.list(list, mine), state: stateOf(list)})
	var children []*plan.Live
	for i := range list.Items {
		live, err := kind.Live(&list.Items[i], Manager)
		if err != nil {
			return nil, err
		}
		children = append(children, live)
	}
	return children, nil
}

// List reads the selected objects into list.
func (r *reads) List(ctx context.Context, list client.ObjectList, selected watches.Selection) error {
	kind, err := apiutil.GVKForObject(list, r.api.Scheme())
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	if !selected.Bounded() {
		return &watches.UnboundedError{Kind: kind.Kind}
	}
	options := []client.ListOption{client.InNamespace(selected.Namespace), client.MatchingLabelsSelector{Selector: selected.Merged()}}
	if err := r.api.List(ctx, list, options...); err != nil {
		return err
	}
	name := r.name(strings.TrimSpace(kind.Kind+" "+selected.Merged().String()), selected.Namespace)
	r.watch(fmt.Sprintf("%T ", list)+name, watched{look: r.list(list, options...), state: stateOf(list)})
	r.tell(name)
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			object.SetManagedFields(nil) // watches do not hold them
		}
		return err
	})
}

// Get reads one object by its name.
func (r *reads) Get(ctx context.Context, object client.Object) (bool, error) {
	kind, err := apiutil.GVKForObject(object, r.api.Scheme())
	if err != nil {
		return false, err
	}
	key, name := client.ObjectKeyFromObject(object), kind.Kind+" "+object.GetName()
	if namespaced, err := r.api.IsObjectNamespaced(object); err == nil && !namespaced {
		key.Namespace = ""
	} else {
		name = r.name(name, key.Namespace)
	}
	look := func(ctx context.Context, into client.Object) (state string, err error) {
		if err := r.api.Get(ctx, key, into); err != nil {
			return "", client.IgnoreNotFound(err)
		}
		state = into.GetResourceVersion()
		into.SetManagedFields(nil) // watches do not hold them
		return state, nil
	}
	blank := object.DeepCopyObject().(client.Object)
	state, err := look(ctx, object)
	if err != nil {
		return false, err
	}
	again := func(ctx context.Context) (string, error) { return look(ctx, blank.DeepCopyObject().(client.Object)) }
	r.watch(fmt.Sprintf("%T ", object)+name, watched{look: again, state: state})
	r.tell(name)
	return state != "", nil
}

// End releases what only earlier reconciles read.
func (r *reads) End() {
	maps.DeleteFunc(r.held, func(name string, _ watched) bool { return !r.used[name] })
}

// name returns the name of a read: "Pod app=web".
func (r *reads) name(what, namespace string) string {
	switch namespace {
	case r.namespace:
		return what
	case "":
		return what + " in all namespaces"
	}
	return what + " in " + namespace
}

// tell records for people what was read besides children.
func (r *reads) tell(name string) {
	if !slices.Contains(r.read, name) {
		r.read = append(r.read, name)
	}
}

// list returns a function that returns the current result of a list.
func (r *reads) list(like client.ObjectList, options ...client.ListOption) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		found := like.DeepCopyObject().(client.ObjectList)
		err := r.api.List(ctx, found, options...)
		return stateOf(found), err
	}
}

// stateOf returns a text that changes when any object of a list does.
func stateOf(list client.ObjectList) string {
	var state strings.Builder
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		fmt.Fprintln(&state, object.GetNamespace(), object.GetName(), object.GetUID(), object.GetResourceVersion())
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("%T is not a list of objects: %v", list, err)) // it was just read
	}
	return state.String()
}

// changed reports each change since the last read once, as a watch does: a reconcile that ends early does not read again.
func (r *reads) changed(ctx context.Context) (changed bool, err error) {
	for name, w := range r.held {
		state, err := w.look(ctx)
		if err != nil {
			return true, err
		}
		changed = changed || state != w.state
		r.held[name] = watched{w.look, state}
	}
	return changed, nil
}
