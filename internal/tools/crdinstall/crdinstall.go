// Package crdinstall puts CustomResourceDefinitions into a cluster and waits until the cluster
// serves them. A definition that was just written is not served yet: for some moments the
// API server answers "not found" for its objects, and everything that starts too early
// fails in a way that looks like a mistake of its own.
//
//	err := crds.Install(ctx, config, "my-tool", definitions...)
//
// Both the `up` loop and the test environments of package localtest stand on it.
package crdinstall

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Resource is that of CustomResourceDefinitions.
var Resource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// How long a definition may take to be served, and how often it is looked at.
const (
	patience = 2 * time.Minute
	interval = 10 * time.Millisecond
)

// Error is a definition that the cluster refused or does not serve.
type Error struct {
	// Name of the definition.
	Name string
	// Err is the API server's answer, or why it is not served.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("CustomResourceDefinition %s: %v", e.Name, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Install applies definitions by server-side apply under a field manager's name, and
// returns when all their served versions answer and discovery lists them. The first one that is refused, or is not
// served within two minutes, is returned as an *Error.
func Install(ctx context.Context, config *rest.Config, manager string, definitions ...*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		if err := apply(ctx, client, manager, definition); err != nil {
			return &Error{definition.GetName(), err}
		}
	}
	for _, definition := range definitions {
		if err := waitServed(ctx, client, definition.GetName()); err != nil {
			return &Error{definition.GetName(), err}
		}
	}
	return waitListed(ctx, config, definitions)
}

// waitListed waits until discovery lists all served versions, which it does a moment after they answer: who
// maps kinds to resources asks there.
func waitListed(ctx context.Context, config *rest.Config, definitions []*unstructured.Unstructured) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	var missing error
	err = wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) {
		_, lists, err := client.ServerGroupsAndResources()
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // APIs of others may be away
			return false, err
		}
		missing = unlisted(lists, definitions)
		return missing == nil, nil
	})
	if err != nil && missing != nil {
		return missing
	}
	return err
}

// unlisted is the first definition of which discovery does not list all that is served.
func unlisted(lists []*metav1.APIResourceList, definitions []*unstructured.Unstructured) error {
	listed := map[schema.GroupVersionResource]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, resource := range list.APIResources {
			listed[version.WithResource(resource.Name)] = true
		}
	}
	for _, definition := range definitions {
		for _, resource := range Resources(definition) {
			if !listed[resource] {
				return &Error{definition.GetName(), fmt.Errorf("not served: discovery does not list %s of %s yet", resource.Resource, resource.GroupVersion())}
			}
		}
	}
	return nil
}

func apply(ctx context.Context, client dynamic.Interface, manager string, definition *unstructured.Unstructured) error {
	body, err := json.Marshal(definition.Object)
	if err != nil {
		return err
	}
	force := true
	_, err = client.Resource(Resource).Patch(ctx, definition.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// waitServed waits until the definition is established and each served version answers.
func waitServed(ctx context.Context, client dynamic.Interface, name string) error {
	var why error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		definition, err := client.Resource(Resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if why = established(definition); why != nil {
			return false, nil
		}
		why = answers(ctx, client, definition)
		return why == nil, nil
	})
	if err != nil && why != nil {
		return fmt.Errorf("not served: %w", why)
	}
	return err
}

// established tells what the definition still lacks by its conditions.
func established(definition *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
	if err != nil {
		return err
	}
	why := fmt.Errorf("the API server has not looked at it yet")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["type"] == "Established" && condition["status"] == "True" {
			return nil
		}
		if condition["status"] == "False" {
			why = fmt.Errorf("%v: %v", condition["reason"], condition["message"])
		}
	}
	return why
}

// answers asks for the objects of each served version.
func answers(ctx context.Context, client dynamic.Interface, definition *unstructured.Unstructured) error {
	for _, resource := range Resources(definition) {
		_, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%s/%s does not answer yet", resource.GroupVersion(), resource.Resource)
		}
		// Any other error (no permission to list, a conversion webhook that is not up)
		// comes from an API that is served.
	}
	return nil
}

// Resources are the served versions of a definition.
func Resources(definition *unstructured.Unstructured) []schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var resources []schema.GroupVersionResource
	for _, one := range versions {
		version, _ := one.(map[string]any)
		name, _ := version["name"].(string)
		if version["served"] == true {
			resources = append(resources, schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
		}
	}
	return resources
}
