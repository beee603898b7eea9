package author

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// reading is how an author's code reads objects other than children.
type reading struct {
	reads Reads
	owner client.Object
	// outside contains the known external resources, by kind.
	outside map[string][]external.Known[any]
}

// NewReader returns a reader for the steps of work on an owner.
func NewReader(owner client.Object, reads Reads) durable.Reader {
	return &reading{reads: reads, owner: owner}
}

// errNoReads is returned if a composition was created without an operator.
var errNoReads = errors.New("cannot read: the composition does not belong to a running operator")

// Get reads an object by its kind, name and namespace into object. The default namespace is the owner's. It returns false if
// the object or its kind does not exist. The owner is reconciled again whenever the object is created, changed or deleted.
// object may be a Go type, unstructured, or metav1.PartialObjectMetadata, for which only metadata is read and stored.
func (r *reading) Get(ctx context.Context, object client.Object) (bool, error) {
	if r.reads == nil {
		return false, errNoReads
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(r.owner.GetNamespace()) // cluster-scoped kinds ignore it
	}
	found, err := r.reads.Get(ctx, object)
	if err != nil {
		return false, fmt.Errorf("get %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return found, nil
}

// List reads the objects in the owner's namespace that have the labels. The owner is reconciled again whenever one of them is
// created, changed or deleted. labels are required because they limit memory use, unless an option selects:
// client.MatchingLabelsSelector, client.HasLabels or Everything. client.InNamespace selects another namespace, or all
// namespaces if it is "". The objects are ordered by namespace and name. With client.UnsafeDisableDeepCopy, they must not be changed.
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
	selection.Everything, selection.Shared = slices.Contains(options, Everything), slices.Contains(options, SharedCache)
	selection.Uncopied = opts.UnsafeDisableDeepCopy != nil && *opts.UnsafeDisableDeepCopy
	if opts.FieldSelector != nil || opts.Limit != 0 || opts.Continue != "" {
		return selection, errors.New("only namespaces and labels select what is watched: field selectors, limits and continuations are not supported")
	}
	return selection, nil
}

// everything is the type of Everything.
type everything struct{}

// ApplyToList implements client.ListOption.
func (everything) ApplyToList(*client.ListOptions) {}

// Everything allows List to read all objects of a kind, in one namespace or in all. All of them are stored in memory.
var Everything client.ListOption = everything{}

// sharedCache is the type of SharedCache.
type sharedCache struct{}

// ApplyToList implements client.ListOption.
func (sharedCache) ApplyToList(*client.ListOptions) {}

// SharedCache makes List read everything in a namespace from a cache of all namespaces.
var SharedCache client.ListOption = sharedCache{}
