package up

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/kube"
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
	*kube.Client
	project string
	// found is called with each object that was in the cluster before.
	found func(*unstructured.Unstructured)
}

func newInstaller(config *rest.Config, project string, found func(*unstructured.Unstructured)) (*installer, error) {
	client, err := kube.New(config, manager)
	return &installer{client, project, found}, err
}

// origin is whose an object in the cluster is.
type origin string

const (
	ours    origin = "ours"    // Run made it, and Down removes it
	foreign origin = "foreign" // it was there before, and stays
)

// originOf returns whose the object of this name is. One that does not exist yet will be ours.
func (in *installer) originOf(ctx context.Context, object *unstructured.Unstructured) (origin, error) {
	found, err := in.Get(ctx, object)
	if err != nil {
		return "", err
	}
	if found != nil && found.GetLabels()[Label] != in.project {
		return foreign, nil
	}
	return ours, nil
}

// apply applies an object, labeled unless it was there before. A namespaced one without a namespace gets the samples'.
func (in *installer) apply(ctx context.Context, object *unstructured.Unstructured) (origin, error) {
	object = object.DeepCopy()
	if err := in.Place(object, sampleNamespace); err != nil {
		return "", err
	}
	whose, err := in.originOf(ctx, object)
	if err != nil {
		return "", err
	}
	in.sign(object, whose)
	_, err = in.Apply(ctx, object)
	return whose, err
}

// applyOurs applies an object that must not belong to another client.
func (in *installer) applyOurs(ctx context.Context, object *unstructured.Unstructured) error {
	if err := in.Place(object, sampleNamespace); err != nil {
		return err
	}
	whose, err := in.originOf(ctx, object)
	if err != nil {
		return err
	}
	if whose == foreign {
		return fmt.Errorf("the %s %s is in the cluster already and was not made by `operon up`: the operator seems to be deployed there; remove that, or choose another cluster", object.GetKind(), object.GetName())
	}
	kube.SetLabel(object, Label, in.project)
	_, err = in.Apply(ctx, object)
	return err
}

// sign labels an object that is ours, and reports one that is not.
func (in *installer) sign(object *unstructured.Unstructured, whose origin) {
	if whose == foreign {
		in.found(object)
		return
	}
	kube.SetLabel(object, Label, in.project)
}
