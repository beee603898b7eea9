package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// askers is the number of concurrent access reviews.
const askers = 16

// needs returns the permissions for verbs on objects. Users may have permissions only for some namespaces and definitions, by name.
func (c *cluster) needs(objects []*unstructured.Unstructured, verbs ...string) ([]rbac.Permission, error) {
	var all []rbac.Permission
	for _, object := range objects {
		found, err := c.Mapping(object.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		for _, one := range permissions(found.Resource, object.GetNamespace(), verbs...) {
			if isNamespace(object) || kube.IsCRD(object) {
				one.Name = object.GetName()
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// powersOf returns notes about permissions of a ClusterRole that lead to other permissions. It returns none for an invalid
// ClusterRole, which the API server rejects.
func powersOf(object *unstructured.Unstructured) []string {
	if object.GetKind() != "ClusterRole" {
		return nil
	}
	role, err := kube.ReadRole(object)
	if err != nil {
		return nil
	}
	var notes []string
	for _, power := range rbac.Powers(role.Rules) {
		notes = append(notes, fmt.Sprintf("ClusterRole %s: the operator may %s in the whole cluster", role.Name, power))
	}
	return notes
}

// permissions returns the permissions for verbs on a kind of objects.
func permissions(kind schema.GroupVersionResource, namespace string, verbs ...string) []rbac.Permission {
	var all []rbac.Permission
	for _, verb := range verbs {
		all = append(all, rbac.Permission{Verb: verb, Group: kind.Group, Resource: kind.Resource, Namespace: namespace})
	}
	return all
}

// mayAll returns an error that lists the missing permissions, so that nothing is started that cannot be completed.
func (c *cluster) mayAll(ctx context.Context, needs []rbac.Permission) error {
	var mu sync.Mutex
	var refused []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	unique := map[rbac.Permission]bool{}
	for _, one := range needs {
		if unique[one] {
			continue
		}
		unique[one] = true
		group.Go(func() error {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: one.Attributes()}}
			answer, err := c.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("check your permissions in %s: %w", c.Title, err)
			}
			if !answer.Status.Allowed {
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, "  "+one.String())
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil || len(refused) == 0 {
		return err
	}
	slices.Sort(refused)
	return fmt.Errorf("insufficient permissions in %s, so nothing was changed; missing:\n%s\nrequest them, or select a user that has them with --context", c.Title, strings.Join(refused, "\n"))
}
