package helm

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// Reader reads the objects that a chart looks up and the sources of values. An *operon.Composition is a Reader. The object is
// rendered again when they change.
type Reader interface {
	Get(ctx context.Context, object client.Object) (bool, error)
	List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
}

// reach is what charts may look up outside of the namespace of their release. Charts that pass values to tpl let users of the API choose what is looked
// up, with the permissions of the operator.
type reach struct {
	// Namespaces are further namespaces, or "*" for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// ClusterScoped allows kinds without a namespace.
	ClusterScoped bool `json:"clusterScoped,omitempty"`
}

const everyNamespace = "*"

func readReach(w *engine.Watch) (reach, error) {
	var r reach
	if err := w.Decode("lookup", &r); err != nil {
		return r, err
	}
	for _, namespace := range r.Namespaces {
		if problems := validation.IsDNS1123Label(namespace); namespace != everyNamespace && len(problems) > 0 {
			return r, w.Errorf("lookup", "lookup: %q is not the name of a namespace: %s", namespace, problems[0])
		}
	}
	return r, nil
}

// lookup is the template function lookup.
type lookup struct {
	ctx    context.Context
	reader Reader
	// mapper is nil without a cluster. Nothing is read then.
	mapper meta.RESTMapper
	// namespace is that of the release.
	namespace string
	reach     reach
	// failed is the first error, which package text/template would turn into text.
	failed error
}

// find returns the object with a name, or, without a name, the list of the objects in a namespace. It returns an empty map if
// the object or its kind does not exist.
func (l *lookup) find(apiVersion, kind, namespace, name string) (map[string]any, error) {
	found, err := l.read(schema.FromAPIVersionAndKind(apiVersion, kind), namespace, name)
	if err != nil && l.failed == nil {
		l.failed = err
	}
	return found, err
}

func (l *lookup) read(kind schema.GroupVersionKind, namespace, name string) (map[string]any, error) {
	if l.reader == nil {
		return map[string]any{}, nil
	}
	if err := l.check(kind, namespace, name); err != nil {
		return nil, err
	}
	if name == "" {
		return l.list(kind, namespace)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	found, err := l.reader.Get(l.ctx, object)
	if err != nil || !found {
		return map[string]any{}, err
	}
	return object.Object, nil
}

// check returns an error if the chart must not read what it looks up.
func (l *lookup) check(kind schema.GroupVersionKind, namespace, name string) error {
	if l.mapper == nil {
		return nil
	}
	mapping, err := l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err): // objects of other namespaces are refused before their kind is served, too
	case err != nil:
		return err
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		if l.reach.ClusterScoped || kind.GroupKind() == ownNamespace && name == l.namespace {
			return nil
		}
		return operon.TerminalError(ReasonForbiddenLookup, fmt.Errorf("the chart looks up the %s %q, which does not belong to the namespace of the release: "+
			"set lookup.clusterScoped in watches.yaml if all users of this kind may read such objects", kind.Kind, name))
	}
	if namespace == "" || namespace == l.namespace || slices.Contains(l.reach.Namespaces, namespace) || slices.Contains(l.reach.Namespaces, everyNamespace) {
		return nil
	}
	return operon.TerminalError(ReasonForbiddenLookup, fmt.Errorf("the chart looks up the %s %q in the namespace %s, which is not that of the release: "+
		"add it to lookup.namespaces in watches.yaml if all users of this kind may read such objects", kind.Kind, name, namespace))
}

// ownNamespace is the kind of the namespace of the release, which users of the API may read.
var ownNamespace = corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()

func (l *lookup) list(kind schema.GroupVersionKind, namespace string) (map[string]any, error) {
	if namespace == "" && l.namespaced(kind) {
		return nil, operon.TerminalError(ReasonUnboundedLookup, fmt.Errorf("the chart looks up every %s of the cluster, which would all be watched: give lookup a namespace or a name", kind.Kind))
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := l.reader.List(l.ctx, list, nil, client.InNamespace(namespace), operon.Everything); err != nil {
		return map[string]any{}, err
	}
	if len(list.Items) == 0 {
		return map[string]any{}, nil
	}
	return list.UnstructuredContent(), nil
}

// namespaced reports whether a kind is namespaced, as far as is known.
func (l *lookup) namespaced(kind schema.GroupVersionKind) bool {
	if l.mapper == nil {
		return true
	}
	mapping, err := l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}
