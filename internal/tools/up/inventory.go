package up

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// listers is how many kinds are listed at the same time.
const listers = 16

// item is an object in a cluster, with where it is in the API.
type item struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// inventory is what Run made in a cluster for one project.
type inventory struct {
	client dynamic.Interface
	// resources are all objects of the project's own kinds, whoever made them: they cannot
	// outlive their kinds.
	resources []item
	// policies may refuse to let go of objects.
	policies []item
	// samples are of other kinds.
	samples     []item
	definitions []item
	access      []item
	namespaces  []item
}

func (i *inventory) empty() bool {
	return len(i.policies)+len(i.resources)+len(i.samples)+len(i.definitions)+len(i.access)+len(i.namespaces) == 0
}

// takeInventory looks through all kinds of the cluster for the project's label.
func takeInventory(ctx context.Context, config *rest.Config, project string) (*inventory, error) {
	client, err := kube.New(config, manager)
	if err != nil {
		return nil, err
	}
	kinds, err := client.Deletable()
	if err != nil {
		return nil, err
	}
	var resources []schema.GroupVersionResource
	for _, kind := range kinds {
		resources = append(resources, kind.GroupVersionResource)
	}
	found, err := listAll(ctx, client.Dynamic, resources, metav1.ListOptions{LabelSelector: Label + "=" + project})
	if err != nil {
		return nil, err
	}
	i := &inventory{client: client.Dynamic}
	i.sort(found)
	return i, i.addResources(ctx)
}

// sort puts each found object into its group.
func (i *inventory) sort(found []item) {
	for _, one := range found {
		switch one.resource.GroupResource() {
		case kube.CRDs.GroupResource():
			i.definitions = append(i.definitions, one)
		case schema.GroupResource{Resource: "namespaces"}:
			i.namespaces = append(i.namespaces, one)
		case schema.GroupResource{Resource: "serviceaccounts"}:
			i.access = append(i.access, one)
		case policyResources[0].GroupResource(), policyResources[1].GroupResource():
			i.policies = append(i.policies, one)
		default:
			if one.resource.Group == "rbac.authorization.k8s.io" {
				i.access = append(i.access, one)
				continue
			}
			i.samples = append(i.samples, one)
		}
	}
}

// addResources adds the objects of the definitions that were found.
func (i *inventory) addResources(ctx context.Context) error {
	var own []schema.GroupVersionResource
	for _, definition := range i.definitions {
		crd, err := kube.ReadCRD(definition.object)
		if err != nil {
			return err
		}
		if resource, served := crd.Readable(); served {
			own = append(own, resource)
		}
	}
	found, err := listAll(ctx, i.client, own, metav1.ListOptions{})
	i.resources = found
	i.samples = slices.DeleteFunc(i.samples, func(sample item) bool {
		return slices.ContainsFunc(found, func(one item) bool { return one.object.GetUID() == sample.object.GetUID() })
	})
	return err
}

// listAll lists several kinds in all namespaces. Kinds that the user may not list are left
// out: Run made nothing of theirs as that user.
func listAll(ctx context.Context, client dynamic.Interface, resources []schema.GroupVersionResource, options metav1.ListOptions) ([]item, error) {
	var mu sync.Mutex
	var found []item
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listers)
	for _, resource := range resources {
		group.Go(func() error {
			list, err := client.Resource(resource).List(ctx, options)
			if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			for n := range list.Items {
				found = append(found, item{resource, &list.Items[n]})
			}
			return nil
		})
	}
	return found, group.Wait()
}
