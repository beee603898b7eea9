package author

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// reading is what an author's code reads besides children.
type reading struct {
	reads Reads
	owner client.Object
	// outside is what is known of external resources, by kind.
	outside map[string][]external.Known[any]
}

// NewReader returns what the steps of work on an owner read by.
func NewReader(owner client.Object, reads Reads) durable.Reader {
	return &reading{reads: reads, owner: owner}
}

// errNoReads: a composition was made without an operator around it.
var errNoReads = errors.New("cannot read: the composition does not belong to a running operator")

// Get reads an object by its kind, name and namespace, which is the owner's where it is left
// out, into object. It returns false where there is none, also where the cluster does not
// have the kind. The owner is reconciled again whenever the object changes, appears or goes.
// object may be a Go type, unstructured, or metav1.PartialObjectMetadata, of which no more
// than metadata is read and held.
func (r *reading) Get(ctx context.Context, object client.Object) (bool, error) {
	if r.reads == nil {
		return false, errNoReads
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(r.owner.GetNamespace()) // which is of no meaning to kinds in none
	}
	found, err := r.reads.Get(ctx, object)
	if err != nil {
		return false, fmt.Errorf("get %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return found, nil
}

// List reads the objects in the owner's namespace that carry labels, and lets the owner be
// reconciled again whenever one of them changes, appears or goes. labels are required, as
// they bound what is held in memory, unless an option selects: client.MatchingLabelsSelector,
// client.HasLabels or Everything. client.InNamespace chooses another namespace, or with ""
// all of them. The objects are ordered by namespace and name.
func (r *reading) List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error {
	selection, err := r.selection(labels, options)
	if err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	if r.reads == nil {
		return errNoReads
	}
	if err := r.reads.List(ctx, list, selection); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	return nil
}

func (r *reading) selection(labels client.MatchingLabels, options []client.ListOption) (watches.Selection, error) {
	opts := client.ListOptions{Namespace: r.owner.GetNamespace()}
	opts.ApplyOptions(options)
	selection := watches.Selection{Namespace: opts.Namespace, Labels: labels, Selector: opts.LabelSelector}
	for _, option := range options {
		if option == Everything {
			selection.Everything = true
		}
	}
	if opts.FieldSelector != nil || opts.Limit != 0 || opts.Continue != "" {
		return selection, errors.New("only namespaces and labels select what is watched: field selectors, limits and continuations are not supported")
	}
	return selection, nil
}

// everything is the type of Everything.
type everything struct{}

// ApplyToList implements client.ListOption.
func (everything) ApplyToList(*client.ListOptions) {}

// Everything lets List read all objects of a kind, in the namespace or in all. All of them
// are held in memory.
var Everything client.ListOption = everything{}
