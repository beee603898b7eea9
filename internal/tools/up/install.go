package up

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	// Label marks what Run put into a cluster, with the project's name, so that Down finds it.
	Label = "operon.dev/up"
	// manager is the field manager of what Run applies.
	manager = "operon-up"
	// sampleNamespace takes the samples that name no namespace.
	sampleNamespace = "default"
)

// installer applies objects to a cluster.
type installer struct {
	project string
	client  dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	// found is told of each object that was in the cluster before.
	found func(*unstructured.Unstructured)
}

func newInstaller(config *rest.Config, project string, found func(*unstructured.Unstructured)) (*installer, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lookup, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &installer{project, client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(lookup)), found}, nil
}

// objects is where objects like this one are in the API. A namespaced one without a namespace gets
// the samples'.
func (in *installer) objects(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := in.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		object.SetNamespace("")
		return in.client.Resource(mapping.Resource), nil
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(sampleNamespace)
	}
	return in.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}

// origin is whose an object in the cluster is.
type origin string

const (
	ours    origin = "ours"    // Run made it, and Down removes it
	foreign origin = "foreign" // it was there before, and stays
)

// originOf tells whose the object of this name is. One that is not there yet will be ours.
func (in *installer) originOf(ctx context.Context, objects dynamic.ResourceInterface, name string) (origin, error) {
	found, err := objects.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ours, nil
	}
	if err != nil {
		return "", err
	}
	if found.GetLabels()[Label] != in.project {
		return foreign, nil
	}
	return ours, nil
}

// apply applies an object, labelled unless it was there before.
func (in *installer) apply(ctx context.Context, object *unstructured.Unstructured) (origin, error) {
	object = object.DeepCopy()
	objects, err := in.objects(object)
	if err != nil {
		return "", err
	}
	whose, err := in.originOf(ctx, objects, object.GetName())
	if err != nil {
		return "", err
	}
	in.sign(object, whose)
	body, err := json.Marshal(object.Object)
	if err != nil {
		return "", err
	}
	force := true
	_, err = objects.Patch(ctx, object.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: metav1.FieldValidationStrict})
	return whose, err
}

// applyOurs applies an object that must not belong to somebody else.
func (in *installer) applyOurs(ctx context.Context, object *unstructured.Unstructured) error {
	objects, err := in.objects(object)
	if err != nil {
		return err
	}
	whose, err := in.originOf(ctx, objects, object.GetName())
	if err != nil {
		return err
	}
	if whose == foreign {
		return fmt.Errorf("the %s %s is in the cluster already and was not made by `operon up`: the operator seems to be deployed there; remove that, or choose another cluster", object.GetKind(), object.GetName())
	}
	_, err = in.apply(ctx, object)
	return err
}

// sign labels an object that is ours, and tells of one that is not.
func (in *installer) sign(object *unstructured.Unstructured, whose origin) {
	if whose == foreign {
		in.found(object)
		return
	}
	in.mark(object)
}

func (in *installer) mark(object *unstructured.Unstructured) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[Label] = in.project
	object.SetLabels(labels)
}
