package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// writeMetadata sets the finalizer before the first child that needs it, and removes it after the last. While the composition is
// incomplete, such as after a restart until the author can read everything, the finalizer and the kinds stay: the next complete one would
// have to add them again before it can do anything else.
// The same write records which kinds to look for, and makes the owner the parent of
// an ApplySet that kubectl understands.
func writeMetadata[T client.Object](ctx context.Context, r *Reconciler[T], p *pass[T]) error {
	object := p.object.now
	needsFinalizer := func(child *unstructured.Unstructured) bool { // garbage collection alone is not sufficient
		return !apply.Collected(object, child) || child.GetAnnotations()[plan.AfterAnnotation] != ""
	}
	holdsUp := func(live *plan.Live) bool { // the same, for a child that exists and is no longer declared
		_, composed := p.composed.options[live.ID()]
		return !composed && (!live.RefersTo(object.GetUID()) || live.After != "")
	}
	declared := slices.ContainsFunc(p.composed.desired, needsFinalizer)
	kept := p.composed.declared.Incomplete || slices.ContainsFunc(p.seen.owned, holdsUp)
	return p.object.patchMetadata(ctx, func(o client.Object) {
		needed := declared || kept && controllerutil.ContainsFinalizer(o, Finalizer)
		if needed {
			controllerutil.AddFinalizer(o, Finalizer)
		}
		if !needed {
			controllerutil.RemoveFinalizer(o, Finalizer)
		}
		retire(o, r.Retired)
		describe(o, r.Manager, p.composed.declared)
		if needed || r.ApplySets {
			describeSet(o, p.object.id, r.Manager, p.composed, p.seen.owned)
		}
	})
}

// retire removes the finalizers of an earlier operator.
func retire(object client.Object, finalizers []string) {
	for _, name := range finalizers {
		controllerutil.RemoveFinalizer(object, name)
	}
}

// describeSet writes the labels and annotations of an ApplySet's parent.
func describeSet(parent client.Object, self plan.ID, manager string, composed composed, owned []*plan.Live) {
	kinds, namespaces := map[schema.GroupKind]bool{}, map[string]bool{}
	if annotations := parent.GetAnnotations(); composed.declared.Incomplete {
		for _, kind := range claimedKinds(annotations) {
			kinds[kind] = true
		}
		for name := range strings.SplitSeq(annotations[plan.NamespacesAnnotation], ",") {
			namespaces[name] = name != ""
		}
		delete(namespaces, "")
	}
	var ids []plan.ID
	for _, child := range composed.desired {
		ids = append(ids, plan.Of(child))
	}
	for _, live := range owned {
		ids = append(ids, live.ID())
	}
	for _, id := range ids {
		kinds[id.GroupKind] = true
		if id.Namespace != "" && id.Namespace != parent.GetNamespace() {
			namespaces[id.Namespace] = true
		}
	}
	parent.SetLabels(with(parent.GetLabels(), map[string]string{plan.SetLabel: plan.ApplySetID(self)}))
	parent.SetAnnotations(with(parent.GetAnnotations(), map[string]string{
		plan.ToolingAnnotation:    manager + "/v1",
		plan.KindsAnnotation:      plan.GroupKinds(kinds),
		plan.NamespacesAnnotation: strings.Join(slices.Sorted(maps.Keys(namespaces)), ","),
	}))
}

// with returns a copy of all with more.
func with[K comparable, V any](all, more map[K]V) map[K]V {
	both := map[K]V{}
	maps.Copy(both, all)
	maps.Copy(both, more)
	return both
}

// MetadataAnnotation is the prefix of the annotation on an object that lists the labels and annotations which an operator set
// on it, because its composer declared them: metadata.operon.dev/NAME: "labels=a,b annotations=c". The manager's cache does
// not contain managedFields, which would show this. A key that is removed from the list is removed from the object.
const MetadataAnnotation = "metadata.operon.dev/"

// describe sets the labels and annotations that a composer declared for the object itself, and removes those that it no
// longer declares.
func describe(object client.Object, manager string, declared author.Composed) {
	mark := MetadataAnnotation + manager
	labels, annotations := described(object.GetAnnotations()[mark])
	wanted := declared.Metadata
	if len(labels)+len(annotations)+len(wanted.Labels)+len(wanted.Annotations) == 0 {
		return
	}
	setLabels, labelKeys := declare(object.GetLabels(), labels, wanted.Labels, declared.Incomplete)
	setAnnotations, annotationKeys := declare(object.GetAnnotations(), annotations, wanted.Annotations, declared.Incomplete)
	delete(setAnnotations, mark)
	if len(labelKeys)+len(annotationKeys) > 0 {
		setAnnotations[mark] = "labels=" + strings.Join(labelKeys, ",") + " annotations=" + strings.Join(annotationKeys, ",")
	}
	object.SetLabels(setLabels)
	object.SetAnnotations(setAnnotations)
}

// described reads the annotation that describe writes.
func described(mark string) (labels, annotations []string) {
	keys := func(list, prefix string) []string {
		list, _ = strings.CutPrefix(list, prefix)
		return slices.DeleteFunc(strings.Split(list, ","), func(key string) bool { return key == "" })
	}
	first, second, _ := strings.Cut(mark, " ")
	return keys(first, "labels="), keys(second, "annotations=")
}

// declare returns all with what is wanted, without the keys that were wanted before and no longer are, and which keys are
// the operator's now. While the composition is incomplete, no key is removed.
func declare(all map[string]string, before []string, wanted map[string]string, incomplete bool) (map[string]string, []string) {
	set, keys := with(all, wanted), slices.Collect(maps.Keys(wanted))
	for _, key := range before {
		switch _, still := wanted[key]; {
		case still:
		case incomplete:
			keys = append(keys, key)
		default:
			delete(set, key)
		}
	}
	slices.Sort(keys)
	return set, keys
}
