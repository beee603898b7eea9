package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/operon-framework/operon/internal/core/yamlsafe"
)

// Client reads and writes objects of all kinds in a cluster.
type Client struct {
	// Manager is the field manager of all writes.
	Manager string
	// Dynamic is the client that reads and writes objects.
	Dynamic dynamic.Interface

	discovery discovery.DiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// New returns a client for a cluster that writes with the given field manager. It sends no request.
func New(config *rest.Config, manager string) (*Client, error) {
	config = Unlimited(config)
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Client{
		Manager: manager, Dynamic: objects, discovery: kinds,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)),
	}, nil
}

// Unlimited returns a copy of a connection that leaves rate limits to the API server, and drops the server's warnings.
func Unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// Refresh makes the client forget the kinds of the cluster, for example after a CustomResourceDefinition was removed.
func (c *Client) Refresh() { c.mapper.Reset() }

// Mapping returns the resource and the scope of a kind. If the kind has no version, the preferred one is used. If the cluster
// does not have the kind, the error satisfies meta.IsNoMatchError.
func (c *Client) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	var versions []string
	if kind.Version != "" {
		versions = []string{kind.Version}
	}
	found, err := c.mapper.RESTMapping(kind.GroupKind(), versions...)
	if err != nil {
		return nil, fmt.Errorf("find kind %s in the cluster: %w", kind.Kind, err)
	}
	return found, nil
}

// Has reports whether the cluster has a kind.
func (c *Client) Has(kind schema.GroupKind) (bool, error) {
	_, err := c.Mapping(kind.WithVersion(""))
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// Place sets the namespace of an object as its kind requires: a namespaced object without a namespace gets the given one, and
// the namespace of a cluster-scoped object is removed.
func (c *Client) Place(object *unstructured.Unstructured, namespace string) error {
	mapping, err := c.Mapping(object.GroupVersionKind())
	if err != nil {
		return err
	}
	switch {
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace(namespace)
	}
	return nil
}

// Objects returns the objects of the same kind in the same namespace.
func (c *Client) Objects(like *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := c.Mapping(like.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(mapping.Resource), nil
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(like.GetNamespace()), nil
}

// Get returns an object from the cluster, or nil if it does not exist.
func (c *Client) Get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	objects, err := c.Objects(like)
	if err != nil {
		return nil, err
	}
	found, err := objects.Get(ctx, like.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// List returns the objects of a resource that match a label selector, in a namespace or, if it is empty, in all namespaces. A
// resource that the cluster does not have, or no longer has, has no objects.
func (c *Client) List(ctx context.Context, resource schema.GroupVersionResource, namespace, selector string) ([]*unstructured.Unstructured, error) {
	list, err := c.Dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	var all []*unstructured.Unstructured
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// Apply applies an object and returns the result.
func (c *Client) Apply(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	objects, err := c.Objects(object)
	if err != nil {
		return nil, err
	}
	return c.apply(ctx, objects, object)
}

// DryRun returns the result of applying an object, without applying it.
func (c *Client) DryRun(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	objects, err := c.Objects(object)
	if err != nil {
		return nil, err
	}
	return c.apply(ctx, objects, object, metav1.DryRunAll)
}

func (c *Client) apply(ctx context.Context, objects dynamic.ResourceInterface, object *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	return objects.Patch(ctx, object.GetName(), types.ApplyPatchType, yamlsafe.JSON(body), metav1.PatchOptions{
		FieldManager: c.Manager, Force: new(true), FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun,
	})
}

// Merge patches fields of an object with a JSON merge patch and returns the whole object.
func (c *Client) Merge(ctx context.Context, object *unstructured.Unstructured, fields map[string]any) (*unstructured.Unstructured, error) {
	objects, err := c.Objects(object)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return objects.Patch(ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: c.Manager})
}

// Delete deletes the object with this UID, and before it the objects that it owns. If it was deleted already, or another
// object has its name now, Delete does nothing.
func (c *Client) Delete(ctx context.Context, object *unstructured.Unstructured) error {
	return c.delete(ctx, object, metav1.DeletePropagationForeground)
}

// DeleteBefore is like Delete, but garbage collection deletes the objects that it owns after it.
func (c *Client) DeleteBefore(ctx context.Context, object *unstructured.Unstructured) error {
	return c.delete(ctx, object, metav1.DeletePropagationBackground)
}

func (c *Client) delete(ctx context.Context, object *unstructured.Unstructured, policy metav1.DeletionPropagation) error {
	objects, err := c.Objects(object)
	if err != nil {
		return err
	}
	uid := object.GetUID()
	err = objects.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}})
	if IsGone(err) {
		return nil
	}
	return err
}

// IsGone reports whether an error means that the object no longer exists, or that another object has its name.
func IsGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// Resource is a resource and its scope.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
}

// Deletable returns all kinds whose objects can be listed and deleted, each in its preferred version. Kinds of an
// aggregated API that does not answer are left out. Their groups are unknown.
func (c *Client) Deletable() (all []Resource, unknown []string, err error) {
	lists, err := c.discovery.ServerPreferredResources()
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return nil, nil, fmt.Errorf("list the kinds of the API server: %w", err)
	}
	for version := range failed {
		unknown = append(unknown, version.Group)
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, err
		}
		for _, resource := range list.APIResources {
			all = append(all, Resource{version.WithResource(resource.Name), resource.Namespaced})
		}
	}
	return all, unknown, nil
}

// SetLabel labels an object.
func SetLabel(object *unstructured.Unstructured, key, value string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	object.SetLabels(labels)
}
