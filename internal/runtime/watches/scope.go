package watches

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// scope is the selection of a watch. Equal scopes share a watch.
type scope struct {
	kind schema.GroupVersionKind
	form resourceclient.Form
	// child means that a plan.Live is held for each object; whole means that it includes the object itself.
	child, whole bool
	// namespace is empty for all namespaces that the operator may read.
	namespace string
	// name is the name of the only object, or empty.
	name string
	// byName means that readers read single objects of all those that are selected.
	byName bool
	// selector is a label selector, or empty.
	selector string
	// shard selects the objects of the owners of a shard, or is empty.
	shard string
	// keys are the labels that objects must have, with any value, separated by commas.
	keys string
}

// separator occurs in no name, label key or value.
const separator = "\x00"

// narrow limits a request to the API server to the scope.
func (s scope) narrow(options *metav1.ListOptions) {
	options.LabelSelector = s.selector
	if s.keys != "" {
		options.LabelSelector = s.keys // a key alone selects the objects that have it
	}
	if s.shard != "" {
		options.LabelSelector += "," + s.shard
	}
	if s.name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.name).String()
	}
}

// indexes returns the indexes of readers that an object concerns: the readers of its
// namespace and the readers of all namespaces.
func (s scope) indexes(object any) []string {
	if found, ok := object.(metav1.Object); ok && s.byName {
		return []string{index(found.GetNamespace(), found.GetName())}
	}
	if s.keys == "" {
		return s.byNamespace(object)
	}
	if live, ok := object.(*plan.Live); ok {
		return []string{live.Owner}
	}
	found, ok := object.(metav1.Object)
	if !ok {
		return nil
	}
	values := s.values(found.GetLabels())
	return []string{index("", values), index(found.GetNamespace(), values)}
}

// byNamespace returns the indexes of an object without its labels. Only a watch of all namespaces has readers of one of them.
func (s scope) byNamespace(object any) []string {
	found, ok := object.(metav1.Object)
	if !ok || found.GetNamespace() == "" || s != s.shared() {
		return []string{""}
	}
	return []string{"", index(found.GetNamespace(), "")}
}

// shared returns the scope of the watch of all objects of the kind that readers of different namespaces share.
func (s scope) shared() scope { return scope{kind: s.kind, form: s.form} }

func index(namespace, values string) string { return namespace + separator + values }

// values returns the values of the labels in the order of the scope's keys.
func (s scope) values(all map[string]string) string {
	var values []string
	for key := range strings.SplitSeq(s.keys, ",") {
		values = append(values, all[key])
	}
	return strings.Join(values, separator)
}

// Selection is what a reconcile reads: the objects of a kind in a namespace, or in all, that
// have the labels and match the selector.
type Selection struct {
	Namespace string
	Labels    map[string]string
	// Selector may be nil.
	Selector labels.Selector
	// Everything means that neither labels nor a selector are required.
	Everything bool
	// Shared means that everything in a namespace is read from a watch of all namespaces. With labels, it always is.
	Shared bool
	// Uncopied means that the caller does not change the objects, so that they need not be copied.
	Uncopied bool
}

// scope returns the scope of the watch that serves a selection, and the index that the reader reads of it.
func (s Selection) scope(kind schema.GroupVersionKind, form resourceclient.Form) (_ scope, index_ string) {
	sc := scope{kind: kind, form: form}
	if s.Selector == nil && len(s.Labels) > 0 {
		sc.keys = strings.Join(slices.Sorted(maps.Keys(s.Labels)), ",")
		return sc, index(s.Namespace, sc.values(s.Labels))
	}
	sc.selector = s.Merged().String()
	if s.Shared && s.Namespace != "" && sc == sc.shared() {
		return sc, index(s.Namespace, "")
	}
	sc.namespace = s.Namespace
	return sc, ""
}

// Merged returns the labels and the selector as one selector.
func (s Selection) Merged() labels.Selector {
	selector := s.Selector
	if selector == nil {
		selector = labels.Everything()
	}
	exact, _ := labels.SelectorFromSet(s.Labels).Requirements()
	return selector.Add(exact...)
}

// Bounded reports whether the selection limits what it reads.
func (s Selection) Bounded() bool {
	return s.Everything || len(s.Labels) > 0 || s.Selector != nil && !s.Selector.Empty()
}
