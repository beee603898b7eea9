package crdcompat

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// pageSize is the number of objects in memory at a time.
const pageSize = 250

// Check returns the effects on the objects of a cluster if the definitions were applied. A definition that is not in the
// cluster yet is safe. Objects for which passOver returns true are skipped; passOver may be nil.
func Check(ctx context.Context, config *rest.Config, passOver func(*unstructured.Unstructured) bool, all ...*unstructured.Unstructured) (*Report, error) {
	cluster, err := dynamic.NewForConfig(kube.Unlimited(config))
	if err != nil {
		return nil, err
	}
	report := &Report{}
	for _, one := range all {
		result, err := check(ctx, cluster, passOver, one)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", one.GetName(), err)
		}
		report.Definitions = append(report.Definitions, result)
	}
	return report, nil
}

func check(ctx context.Context, cluster dynamic.Interface, passOver func(*unstructured.Unstructured) bool, definition *unstructured.Unstructured) (*Result, error) {
	found, err := cluster.Resource(kube.CRDs).Get(ctx, definition.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &Result{Name: definition.GetName(), State: New}, nil
	}
	if err != nil {
		return nil, err
	}
	old, err := kube.ReadCRD(found)
	if err != nil {
		return nil, err
	}
	changed, err := kube.ReadCRD(definition)
	if err != nil {
		return nil, err
	}
	c, err := Compare(&old.CustomResourceDefinition, &changed.CustomResourceDefinition)
	if err != nil {
		return nil, err
	}
	if !c.changed() {
		return c.Result(), nil
	}
	see := func(version string, object *unstructured.Unstructured) {
		if passOver == nil || !passOver(object) {
			c.Object(ctx, version, nameOf(object), object.Object)
		}
	}
	for _, version := range c.reads() {
		err := c.look(ctx, cluster, version, see)
		if err != nil && version == old.Storage() {
			return nil, err
		}
		if err != nil { // the conversion webhook may not be running
			c.add(VersionUnread, version, "", "its objects were not judged: "+err.Error())
		}
	}
	return c.Result(), nil
}

// look calls see for each object, read in the given version.
func (c *Comparison) look(ctx context.Context, cluster dynamic.Interface, version string, see func(string, *unstructured.Unstructured)) error {
	kind := cluster.Resource(runtimeschema.GroupVersionResource{Group: c.old.Spec.Group, Version: version, Resource: c.old.Spec.Names.Plural})
	for next := ""; ; {
		page, err := kind.List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return fmt.Errorf("list the stored objects in version %s: %w", version, err)
		}
		for i := range page.Items {
			see(version, &page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

func nameOf(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}
