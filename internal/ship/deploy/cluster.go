package deploy

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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/operon-framework/operon/internal/tools/up"
)

// manager is the field manager of what is applied.
const manager = "operon-deploy"

// cluster is what is worked on.
type cluster struct {
	*up.Cluster
	dynamic dynamic.Interface
	typed   kubernetes.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	kinds   discovery.DiscoveryInterface
}

func connect(ctx context.Context, where up.Where) (*cluster, error) {
	found, err := up.Find(ctx, where)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(found.Config)
	config.QPS = -1 // the API server does the limiting
	config.WarningHandler = rest.NoWarnings{}
	c := &cluster{Cluster: found}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c.typed, c.kinds = typed, typed.Discovery()
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.kinds))
	return c, nil
}

// mapping is where a kind is in the API.
func (c *cluster) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("find the kind %s in the cluster: %w", kind.Kind, err)
	}
	return found, nil
}

// has tells whether the cluster has a kind.
func (c *cluster) has(kind schema.GroupKind) (bool, error) {
	_, err := c.mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// objects is where objects like this one are.
func (c *cluster) objects(like *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	found, err := c.mapping(like.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if found.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(found.Resource), nil
	}
	return c.dynamic.Resource(found.Resource).Namespace(like.GetNamespace()), nil
}

// get is the object as it is in the cluster, nil where there is none.
func (c *cluster) get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	objects, err := c.objects(like)
	if err != nil {
		return nil, err
	}
	found, err := objects.Get(ctx, like.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// apply applies an object; dry: the API server only tells what would come of it.
func (c *cluster) apply(ctx context.Context, object *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error) {
	objects, err := c.objects(object)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: manager, Force: new(true), FieldValidation: metav1.FieldValidationStrict}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return objects.Patch(ctx, object.GetName(), types.ApplyPatchType, body, options)
}

// delete asks for the deletion of this very object, with what it owns before it.
func (c *cluster) delete(ctx context.Context, object *unstructured.Unstructured) error {
	objects, err := c.objects(object)
	if err != nil {
		return err
	}
	uid, foreground := object.GetUID(), metav1.DeletePropagationForeground
	err = objects.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &uid}})
	if isGone(err) {
		return nil
	}
	return err
}

// isGone tells errors of an object that is not there any more, or is another one of that name.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
