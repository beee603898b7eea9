package resourceclient

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// builtIn has the kinds of Kubernetes.
var builtIn = clientgoscheme.Scheme

// metadataOnly is the endpoint of the form Metadata.
type metadataOnly struct{ client metadata.Getter }

func (e metadataOnly) Example() runtime.Object { return &metav1.PartialObjectMetadata{} }

func (e metadataOnly) Get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	return e.client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (e metadataOnly) List(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	return e.client.Namespace(namespace).List(ctx, options)
}

func (e metadataOnly) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error) {
	return e.client.Namespace(namespace).Watch(ctx, options)
}

func (e metadataOnly) Apply(ctx context.Context, namespace, name string, body []byte, options metav1.PatchOptions) (runtime.Object, error) {
	return e.client.Namespace(namespace).Patch(ctx, name, types.ApplyPatchType, body, options)
}

// loose is the endpoint of the form Loose.
type loose struct {
	client dynamic.NamespaceableResourceInterface
	kind   schema.GroupVersionKind
}

func (e loose) Example() runtime.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(e.kind)
	return object
}

func (e loose) Get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	return e.client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (e loose) List(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	return e.client.Namespace(namespace).List(ctx, options)
}

func (e loose) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error) {
	return e.client.Namespace(namespace).Watch(ctx, options)
}

func (e loose) Apply(ctx context.Context, namespace, name string, body []byte, options metav1.PatchOptions) (runtime.Object, error) {
	return e.client.Namespace(namespace).Patch(ctx, name, types.ApplyPatchType, body, options)
}

// typed is the endpoint of the form Typed.
type typed struct {
	client       rest.Interface
	resource     string
	namespaced   bool
	object, list runtime.Object
	query        runtime.ParameterCodec
}

func (w *Wire) typedEndpoint(kind schema.GroupVersionKind, mapping *meta.RESTMapping) (*typed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if made := w.typed[kind]; made != nil {
		return made, nil
	}
	object, err := w.cfg.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	list, err := w.cfg.Scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	client, err := apiutil.RESTClientForGVK(kind, false, false, w.cfg.REST, serializer.NewCodecFactory(w.cfg.Scheme), w.cfg.HTTP)
	if err != nil {
		return nil, err
	}
	made := &typed{
		client: client, resource: mapping.Resource.Resource, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
		object: object, list: list, query: runtime.NewParameterCodec(w.cfg.Scheme),
	}
	w.typed[kind] = made
	return made, nil
}

func (e *typed) Example() runtime.Object { return e.object.DeepCopyObject() }

func (e *typed) at(request *rest.Request, namespace string) *rest.Request {
	return request.NamespaceIfScoped(namespace, e.namespaced && namespace != "").Resource(e.resource)
}

func (e *typed) Get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	object := e.Example()
	return object, e.at(e.client.Get(), namespace).Name(name).Do(ctx).Into(object)
}

func (e *typed) List(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	list := e.list.DeepCopyObject()
	return list, e.at(e.client.Get(), namespace).VersionedParams(&options, e.query).Do(ctx).Into(list)
}

func (e *typed) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return e.at(e.client.Get(), namespace).VersionedParams(&options, e.query).Watch(ctx)
}

func (e *typed) Apply(ctx context.Context, namespace, name string, body []byte, options metav1.PatchOptions) (runtime.Object, error) {
	answer := e.Example()
	return answer, e.at(e.client.Patch(types.ApplyPatchType), namespace).Name(name).VersionedParams(&options, e.query).Body(body).Do(ctx).Into(answer)
}
