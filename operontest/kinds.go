package operontest

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/operon-framework/operon/internal/core/kindscope"
)

// kind is a kind that an API serves.
type kind struct {
	schema.GroupVersionKind
	namespaced bool
}

// mapper returns a mapper for the kinds of a scheme and further kinds.
func mapper(scheme *runtime.Scheme, further []kind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	told := sets.New[schema.GroupVersionKind]()
	for _, k := range further {
		told.Insert(k.GroupVersionKind)
		m.Add(k.GroupVersionKind, scope(k.namespaced))
	}
	for served := range scheme.AllKnownTypes() {
		if served.Version != runtime.APIVersionInternal && !told.Has(served) && isObject(scheme, served) {
			m.Add(served, scope(!kindscope.IsCluster(served.GroupKind())))
		}
	}
	return m
}

// isObject distinguishes the kinds of objects from lists, options and the like.
func isObject(scheme *runtime.Scheme, served schema.GroupVersionKind) bool {
	made, err := scheme.New(served)
	_, object := made.(metav1.ObjectMetaAccessor)
	return err == nil && object && !strings.HasSuffix(served.Kind, "List")
}

func scope(namespaced bool) meta.RESTScope {
	if namespaced {
		return meta.RESTScopeNamespace
	}
	return meta.RESTScopeRoot
}
