package up

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// listers is the number of kinds that are listed at the same time.
const listers = 16

// inventory holds the objects that Run created in a cluster for one project.
type inventory struct {
	client *kube.Client
	// resources are all objects of the project's own kinds, regardless of their origin, because they are deleted with their
	// kinds.
	resources []*unstructured.Unstructured
	// policies may reject the deletion of objects.
	policies []*unstructured.Unstructured
	// samples are objects of other kinds.
	samples     []*unstructured.Unstructured
	definitions []*unstructured.Unstructured
	access      []*unstructured.Unstructured
	namespaces  []*unstructured.Unstructured
}

func (i *inventory) empty() bool {
	return len(i.policies)+len(i.resources)+len(i.samples)+len(i.definitions)+len(i.access)+len(i.namespaces) == 0
}

// others returns the custom resources that a project's tests did not create: they lack its label, and are outside of the namespaces that it created.
func (i *inventory) others(project string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(i.resources), func(object *unstructured.Unstructured) bool {
		return object.GetLabels()[Label] == project || slices.ContainsFunc(i.namespaces, func(namespace *unstructured.Unstructured) bool {
			return namespace.GetName() == object.GetNamespace()
		})
	})
}

// takeInventory searches all kinds of the cluster for the project's label.
func takeInventory(ctx context.Context, config *rest.Config, project string) (*inventory, error) {
	client, err := kube.New(config, manager)
	if err != nil {
		return nil, err
	}
	kinds, _, err := client.Deletable()
	if err != nil {
		return nil, err
	}
	var resources []schema.GroupVersionResource
	for _, kind := range kinds {
		resources = append(resources, kind.GroupVersionResource)
	}
	i := &inventory{client: client}
	found, err := i.listAll(ctx, resources, Label+"="+project)
	if err != nil {
		return nil, err
	}
	i.sort(found)
	return i, i.addResources(ctx)
}

// sort adds each found object to its group.
func (i *inventory) sort(found []*unstructured.Unstructured) {
	for _, object := range found {
		kind := object.GroupVersionKind().GroupKind()
		into := &i.samples
		switch {
		case kube.IsCRD(object):
			into = &i.definitions
		case kind == schema.GroupKind{Kind: "Namespace"}:
			into = &i.namespaces
		case kind == schema.GroupKind{Kind: "ServiceAccount"}, kind.Group == rbacv1.GroupName:
			into = &i.access
		case kind.Group == policyResources[0].Group && strings.HasPrefix(kind.Kind, "ValidatingAdmissionPolicy"):
			into = &i.policies
		}
		*into = append(*into, object)
	}
}

// addResources adds the objects of the found definitions.
func (i *inventory) addResources(ctx context.Context) error {
	var own []schema.GroupVersionResource
	for _, definition := range i.definitions {
		crd, err := kube.ReadCRD(definition)
		if err != nil {
			return err
		}
		if resource, served := crd.Readable(); served {
			own = append(own, resource)
		}
	}
	found, err := i.listAll(ctx, own, "")
	i.resources = found
	i.samples = slices.DeleteFunc(i.samples, func(sample *unstructured.Unstructured) bool {
		return slices.ContainsFunc(found, func(one *unstructured.Unstructured) bool { return one.GetUID() == sample.GetUID() })
	})
	return err
}

// listAll lists several kinds in all namespaces. Kinds that the user may not list are left out, because Run cannot have
// created such objects as this user.
func (i *inventory) listAll(ctx context.Context, resources []schema.GroupVersionResource, selector string) ([]*unstructured.Unstructured, error) {
	var mu sync.Mutex
	var found []*unstructured.Unstructured
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listers)
	for _, resource := range resources {
		group.Go(func() error {
			objects, err := i.client.List(ctx, resource, "", selector)
			if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, objects...)
			return err
		})
	}
	return found, group.Wait()
}
