package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// CRDError is the error for a CustomResourceDefinition that the cluster rejects or does not serve.
type CRDError struct {
	// Name is the name of the definition.
	Name string
	// Err is the API server's answer, or the reason why it is not served.
	Err error
}

// Error implements error.
func (e *CRDError) Error() string {
	return fmt.Sprintf("CustomResourceDefinition %s: %v", e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *CRDError) Unwrap() error { return e.Err }

// InstallCRDs is [Client.InstallCRDs] for callers that need no client.
func InstallCRDs(ctx context.Context, config *rest.Config, manager string, definitions ...*unstructured.Unstructured) error {
	c, err := New(config, manager)
	if err != nil {
		return err
	}
	return c.InstallCRDs(ctx, definitions...)
}

// InstallCRDs applies CustomResourceDefinitions and returns when all their served versions answer and discovery lists them.
// Before that, the API server answers "not found" for their objects, and a client that starts too early fails with misleading
// errors. For the first definition that is rejected, or is not served within two minutes, it returns a *CRDError.
func (c *Client) InstallCRDs(ctx context.Context, definitions ...*unstructured.Unstructured) error {
	for _, definition := range definitions {
		if _, err := c.apply(ctx, c.Dynamic.Resource(CRDs), definition); err != nil {
			return &CRDError{definition.GetName(), err}
		}
	}
	var resources []schema.GroupVersionResource
	for _, definition := range definitions {
		served, err := c.waitServed(ctx, definition.GetName())
		if err != nil {
			return &CRDError{definition.GetName(), err}
		}
		resources = append(resources, served.Served()...)
	}
	defer c.Refresh()
	return c.waitListed(ctx, resources)
}

// waitServed waits until the definition is established and each served version answers.
func (c *Client) waitServed(ctx context.Context, name string) (crd *CRD, err error) {
	var why error
	err = wait.PollUntilContextTimeout(ctx, timing.servedInterval, timing.servedTimeout, true, func(ctx context.Context) (bool, error) {
		found, err := c.Dynamic.Resource(CRDs).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if crd, err = ReadCRD(found); err != nil {
			return false, err
		}
		if why = crd.established(); why == nil {
			why = c.answers(ctx, crd)
		}
		return why == nil, nil
	})
	if err != nil && why != nil {
		err = fmt.Errorf("not served: %w", why)
	}
	return crd, err
}

// answers requests the objects of each served version. Only "not found" means that a version is not served: any other error,
// such as the error of a conversion webhook that does not run, comes from a served API.
func (c *Client) answers(ctx context.Context, crd *CRD) error {
	for _, resource := range crd.Served() {
		_, err := c.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%s/%s does not answer yet", resource.GroupVersion(), resource.Resource)
		}
	}
	return nil
}

// waitListed waits until discovery lists resources, which happens shortly after they answer. Clients that map kinds to
// resources depend on it.
func (c *Client) waitListed(ctx context.Context, resources []schema.GroupVersionResource) error {
	var missing error
	err := wait.PollUntilContextTimeout(ctx, timing.servedInterval, timing.servedTimeout, true, func(context.Context) (bool, error) {
		_, lists, err := c.discovery.ServerGroupsAndResources()
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // aggregated APIs may be unavailable
			return false, err
		}
		listed, err := discovery.GroupVersionResources(lists)
		if err != nil {
			return false, err
		}
		missing = unlisted(listed, resources)
		return missing == nil, nil
	})
	if err != nil && missing != nil {
		return missing
	}
	return err
}

// unlisted returns an error that names the first resource that discovery does not list.
func unlisted(listed map[schema.GroupVersionResource]struct{}, resources []schema.GroupVersionResource) error {
	for _, resource := range resources {
		if _, ok := listed[resource]; !ok {
			return &CRDError{resource.GroupResource().String(), fmt.Errorf("not served: discovery does not list %s of %s yet", resource.Resource, resource.GroupVersion())}
		}
	}
	return nil
}
