package tree

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshot returns the current tree: all custom resources of the root kinds, the samples of other kinds, and the objects that
// they own.
func (w *Watcher) Snapshot() Snapshot {
	objects, samples := w.collect()
	owned := byOwner(objects)
	var snapshot Snapshot
	for _, object := range objects {
		if w.rootKind(object) != nil && !isOwned(object, objects) || matchesAny(object, samples) {
			snapshot.Roots = append(snapshot.Roots, grow(object, owned, w.judge))
		}
	}
	if w.Complete() {
		snapshot.Roots = append(snapshot.Roots, missing(samples, objects)...)
	}
	slices.SortFunc(snapshot.Roots, func(a, b *Node) int { return byName(a.Object, b.Object) })
	snapshot.Events = w.eventsOf(snapshot.Roots)
	return snapshot
}

// collect returns all watched objects, each once.
func (w *Watcher) collect() ([]*unstructured.Unstructured, []Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var objects []*unstructured.Unstructured
	seen := map[types.UID]bool{}
	for _, store := range w.stores {
		for _, item := range store.List() {
			object, ok := item.(*unstructured.Unstructured)
			if ok && !seen[object.GetUID()] {
				seen[object.GetUID()] = true
				objects = append(objects, object)
			}
		}
	}
	return objects, slices.Clone(w.samples)
}

// Complete reports whether all objects have been read, except those of kinds that may not be listed or no longer exist.
func (w *Watcher) Complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.synced {
		if !w.unseen[one.kind] && !w.gone[one.kind] && !one.done() {
			return false
		}
	}
	return true
}

func (w *Watcher) judge(object *unstructured.Unstructured) (State, string) {
	if root := w.rootKind(object); root != nil {
		return JudgeCustom(object, root.Reports)
	}
	return Judge(object)
}

// isOwned reports whether an object is a child of another object, for example if one custom resource creates another.
func isOwned(object *unstructured.Unstructured, objects []*unstructured.Unstructured) bool {
	for _, owner := range object.GetOwnerReferences() {
		if slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetUID() == owner.UID }) {
			return true
		}
	}
	return false
}

// Matches reports whether an object is the sample.
func (s Sample) Matches(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return kind.Group == s.Group && kind.Kind == s.Kind && object.GetNamespace() == s.Namespace && object.GetName() == s.Name
}

func matchesAny(object *unstructured.Unstructured, samples []Sample) bool {
	return slices.ContainsFunc(samples, func(s Sample) bool { return s.Matches(object) })
}

// missing returns nodes for the samples that are not in the cluster.
func missing(samples []Sample, objects []*unstructured.Unstructured) []*Node {
	var nodes []*Node
	for _, sample := range samples {
		if slices.ContainsFunc(objects, sample.Matches) {
			continue
		}
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(sample.GroupVersionKind)
		object.SetNamespace(sample.Namespace)
		object.SetName(sample.Name)
		nodes = append(nodes, &Node{Object: object, State: Missing, Message: "not in the cluster"})
	}
	return nodes
}
