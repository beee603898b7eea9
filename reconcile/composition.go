package reconcile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/outcome"
	"github.com/operon-framework/operon/plan"
	"github.com/operon-framework/operon/track"
)

// Composition collects the children that a composer declares.
type Composition struct {
	children []*child
	waits    []outcome.Outcome
}

// Child declares that object should exist: typed or unstructured, with a name, with what
// matters of its spec and nothing else. Without a namespace it gets its owner's. Children
// are created in the order of their declaration, unless options say otherwise. A child
// that is declared only under a condition is deleted when the condition ends.
func (c *Composition) Child(object client.Object, options ...ChildOption) {
	declared := &child{object: object}
	for _, option := range options {
		option(declared)
	}
	c.children = append(c.children, declared)
}

// Wait says that the composer waits for something outside before it can declare the rest.
// reason is one CamelCase word and message a sentence, for the Ready condition. What was
// declared is applied; nothing is deleted for not being declared.
func (c *Composition) Wait(reason, message string) {
	c.waits = append(c.waits, outcome.Wait(reason, message))
}

// Children are what was declared, in order.
func (c *Composition) Children() []client.Object {
	var objects []client.Object
	for _, declared := range c.children {
		objects = append(objects, declared.object)
	}
	return objects
}

// Observed is what an observer can see.
type Observed struct {
	live  map[plan.ID]*unstructured.Unstructured
	kinds func(client.Object) (plan.ID, error)
	reads Reads
	owner client.Object
}

// Child reads the live state of a child that was composed, by its kind and name, into
// object. It returns false while the child is not there.
func (o *Observed) Child(object client.Object) (bool, error) {
	if object.GetNamespace() == "" {
		object.SetNamespace(o.owner.GetNamespace())
	}
	id, err := o.kinds(object)
	if err != nil {
		return false, err
	}
	live := o.live[id]
	if live == nil {
		return false, nil
	}
	return true, fromUnstructured(live, object)
}

// List reads the objects in the owner's namespace that carry labels, and lets the object
// be reconciled again whenever one of them changes, appears or goes. Further options are
// those of client.List; the labels are required, as they bound what is held in memory.
func (o *Observed) List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error {
	opts := client.ListOptions{Namespace: o.owner.GetNamespace()}
	opts.ApplyOptions(options)
	if err := o.reads.List(ctx, list, track.Selection{Namespace: opts.Namespace, Labels: labels}); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	if loose, ok := list.(*unstructured.UnstructuredList); ok {
		for i := range loose.Items {
			loose.Items[i].SetManagedFields(nil) // held in a form of our own
		}
	}
	return nil
}
