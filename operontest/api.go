package operontest

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// newAPI returns an API in memory that serves the operator's kinds. It is the one of controller-runtime, with the fields that
// an API server sets in objects.
func (o *Operator[T]) newAPI(time clock.PassiveClock) (client.WithWatch, error) {
	scheme, err := o.scheme()
	if err != nil {
		return nil, err
	}
	known, err := builtin()
	if err != nil {
		return nil, err
	}
	kinds, schemas, err := o.defined()
	if err != nil {
		return nil, err
	}
	owned := ownership{scheme: known, known: applyconfigurations.NewTypeConverter(known), TypeConverter: managedfields.NewDeducedTypeConverter()}
	admit := func(object runtime.Object) error { return schemas.admit(scheme, object) }
	store := &storage{time: time, admit: admit, ObjectTracker: testing.NewFieldManagedObjectTracker(
		scheme, serializer.NewCodecFactory(scheme).UniversalDecoder(), owned,
	)}
	return fake.NewClientBuilder().
		WithScheme(scheme).
		WithRESTMapper(mapper(scheme, kinds)).
		WithObjectTracker(store).
		WithStatusSubresource(custom(scheme, known)...).
		WithGlobalResourceVersionCounter().
		WithReturnManagedFields().
		// The first object gets the resource version 1, which no other object may have: a creation requests this version so
		// that it does not take over an existing object.
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}).
		Build(), nil
}

// builtin returns a scheme with the built-in types of Kubernetes.
var builtin = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, clientgoscheme.AddToScheme(scheme)
})

// ownership determines the owners of fields: for built-in kinds from their schemas, and for others from the structure of an
// object, so that each of their lists is owned as a whole.
type ownership struct {
	managedfields.TypeConverter

	scheme *runtime.Scheme
	known  managedfields.TypeConverter
}

// ObjectToTyped adds the schema to an object.
func (o ownership) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if o.scheme.Recognizes(object.GetObjectKind().GroupVersionKind()) {
		return o.known.ObjectToTyped(object, options...)
	}
	return o.TypeConverter.ObjectToTyped(object, options...)
}

// custom returns objects of the kinds that are not built into Kubernetes. Their status is a subresource, too.
func custom(scheme, known *runtime.Scheme) []client.Object {
	var objects []client.Object
	for kind := range scheme.AllKnownTypes() {
		if known.Recognizes(kind) || kind.Version == runtime.APIVersionInternal || !isObject(scheme, kind) {
			continue
		}
		made, err := scheme.New(kind)
		if object, ok := made.(client.Object); ok && err == nil {
			objects = append(objects, object)
		}
	}
	return objects
}
