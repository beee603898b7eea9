package operontest

import (
	"context"
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// endpoints accesses children through a client.
type endpoints struct{ client.Client }

// Children implements apply.Endpoints.
func (e endpoints) Children(c resourceclient.Children) (resourceclient.Endpoint, error) {
	return endpoint{e.Client, c.Kind}, nil
}

// endpoint is the endpoint of one kind. Reads do not use it: see reads.
type endpoint struct {
	client.Client
	kind schema.GroupVersionKind
}

var errNoWatch = errors.New("an API in memory is not watched")

func (e endpoint) Example() runtime.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(e.kind)
	return object
}

func (e endpoint) Get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(e.kind)
	return object, e.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
}

func (e endpoint) List(context.Context, string, metav1.ListOptions) (runtime.Object, error) {
	return nil, errNoWatch
}

func (e endpoint) Watch(context.Context, string, metav1.ListOptions) (watch.Interface, error) {
	return nil, errNoWatch
}

func (e endpoint) Apply(ctx context.Context, _, _ string, body []byte, options metav1.PatchOptions) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &object.Object); err != nil {
		return nil, err
	}
	return object, e.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(options.FieldManager), client.ForceOwnership)
}
