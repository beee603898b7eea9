package operontest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/plan"
	"github.com/operon-framework/operon/reconcile"
	"github.com/operon-framework/operon/track"
)

// noReads are those of a composition that is not reconciled.
func noReads(types.NamespacedName) reconcile.Reads { return nothing{} }

type nothing struct{}

func (nothing) List(context.Context, client.ObjectList, track.Selection) error {
	return errors.New("nothing can be read here")
}

func (nothing) End(context.Context) error { return nil }

// reads serves what the reconciles of one object read from an API, and tells when any of it
// has changed since.
type reads struct {
	api       client.Client
	namespace string

	// read is what was read besides children, for people.
	read []string
	// held are the selections that are watched, used those that this reconcile has read.
	held map[string]selection
	used map[string]bool
}

// selection is what was read, and what it was then.
type selection struct {
	list client.ObjectList // empty
	track.Selection
	state string
}

// begin begins the reading of a reconcile.
func (r *reads) begin(types.NamespacedName) reconcile.Reads {
	r.used = map[string]bool{}
	return r
}

// List reads the selected objects into list.
func (r *reads) List(ctx context.Context, list client.ObjectList, selected track.Selection) error {
	if len(selected.Labels) == 0 {
		return fmt.Errorf("listing %T without labels would hold every object of the kind in memory; select by labels, with client.MatchingLabels", list)
	}
	s := selection{list: list.DeepCopyObject().(client.ObjectList), Selection: selected}
	state, err := s.look(ctx, r.api, list)
	if err != nil {
		return err
	}
	s.state = state
	name, err := r.name(s)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%T ", list) + name
	r.held[key], r.used[key] = s, true
	if _, children := selected.Labels[plan.OwnerLabel]; !children && !slices.Contains(r.read, name) {
		r.read = append(r.read, name)
	}
	return nil
}

// End lets go of what only earlier reconciles read.
func (r *reads) End(context.Context) error {
	maps.DeleteFunc(r.held, func(key string, _ selection) bool { return !r.used[key] })
	return nil
}

// name says what was read: "Pod app=web".
func (r *reads) name(s selection) (string, error) {
	kind, err := apiutil.GVKForObject(s.list, r.api.Scheme())
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(kind.Kind, "List") + " " + labels.Set(s.Labels).String()
	switch s.Namespace {
	case r.namespace:
		return name, nil
	case "":
		return name + " in all namespaces", nil
	}
	return name + " in " + s.Namespace, nil
}

// look reads the selection and returns a text that differs when any of it does.
func (s selection) look(ctx context.Context, api client.Reader, list client.ObjectList) (string, error) {
	if err := api.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels(s.Labels)); err != nil {
		return "", err
	}
	var state strings.Builder
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		fmt.Fprintln(&state, object.GetNamespace(), object.GetName(), object.GetUID(), object.GetResourceVersion())
		return nil
	})
	return state.String(), err
}

// changed tells whether anything is not as it was when it was read.
func (r *reads) changed(ctx context.Context) (bool, error) {
	for _, s := range r.held {
		state, err := s.look(ctx, r.api, s.list.DeepCopyObject().(client.ObjectList))
		if err != nil || state != s.state {
			return true, err
		}
	}
	return false, nil
}
