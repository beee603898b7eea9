package up

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

const (
	// Label marks objects that Run creates in a cluster. Its value is the project's name, so that Down finds them.
	Label = "operon.dev/up"
	// manager is the field manager of objects that Run applies.
	manager = "operon-up"
	// sampleNamespace is the namespace of samples that do not name one, unless a test has its own.
	sampleNamespace = "default"
)

// installer applies objects to a cluster.
type installer struct {
	*kube.Client
	project string
	// namespace is the namespace of samples that do not name one.
	namespace string
	// found is called with each object that existed in the cluster before.
	found func(*unstructured.Unstructured)
}

func newInstaller(config *rest.Config, project string, found func(*unstructured.Unstructured)) (*installer, error) {
	client, err := kube.New(config, manager)
	return &installer{client, project, sampleNamespace, found}, err
}

// origin describes who created an object in the cluster.
type origin string

const (
	ours    origin = "ours"    // Run created it, and Down removes it
	foreign origin = "foreign" // it existed before, and remains
)

// originOf returns the origin of the object with this name. An object that does not exist yet is ours.
func (in *installer) originOf(ctx context.Context, object *unstructured.Unstructured) (origin, error) {
	found, err := in.Get(ctx, object)
	if err != nil {
		return "", err
	}
	if found == nil || found.GetLabels()[Label] == in.project {
		return ours, nil
	}
	if other := found.GetLabels()[Label]; kube.IsCRD(object) && strings.HasSuffix(other, testSuffix) {
		return "", fmt.Errorf("%s was installed by `operon test` of the project %s, which removes it with all objects of its kind: wait until the test has ended, or run it again if it was interrupted",
			tree.Address(object), strings.TrimSuffix(other, testSuffix))
	}
	return foreign, nil
}

// apply applies an object. It labels the object unless it existed before. A namespaced object without a namespace gets the
// namespace of the samples.
func (in *installer) apply(ctx context.Context, object *unstructured.Unstructured) (origin, error) {
	object = object.DeepCopy()
	if err := in.Place(object, in.namespace); err != nil {
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

// applyOurs applies an object that must not have been created by another client.
func (in *installer) applyOurs(ctx context.Context, object *unstructured.Unstructured) error {
	if err := in.checkOurs(ctx, object); err != nil {
		return err
	}
	kube.SetLabel(object, Label, in.project)
	_, err := in.Apply(ctx, object)
	return err
}

// checkOurs returns an error if an object exists that was created by another client.
func (in *installer) checkOurs(ctx context.Context, object *unstructured.Unstructured) error {
	if err := in.Place(object, in.namespace); err != nil {
		return err
	}
	whose, err := in.originOf(ctx, object)
	if err != nil {
		return err
	}
	if whose == foreign {
		return fmt.Errorf("the %s %s already exists in the cluster and was not created by `operon up`: the operator seems to be deployed there; undeploy it, or choose another cluster", object.GetKind(), object.GetName())
	}
	return nil
}

// sign labels an object that is ours, and reports any other object.
func (in *installer) sign(object *unstructured.Unstructured, whose origin) {
	if whose == foreign {
		in.found(object)
		return
	}
	kube.SetLabel(object, Label, in.project)
}
