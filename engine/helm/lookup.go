package helm

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
)

// Reader reads the objects that a chart looks up and the sources of values. An *operon.Composition is a Reader. The object is
// rendered again when they change.
type Reader interface {
	Get(ctx context.Context, object client.Object) (bool, error)
	List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
}

// lookup is the template function lookup.
type lookup struct {
	ctx    context.Context
	reader Reader
	mapper meta.RESTMapper
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
