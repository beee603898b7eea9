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
)

// askers is how many questions are asked at the same time.
const askers = 16

// need is something that has to be allowed.
type need = authorizationv1.ResourceAttributes

// needs of verbs on objects, each once.
func (c *cluster) needs(objects []*unstructured.Unstructured, verbs ...string) ([]need, error) {
	var all []need
	for _, object := range objects {
		found, err := c.Mapping(object.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		for _, verb := range verbs {
			one := need{Verb: verb, Group: found.Resource.Group, Resource: found.Resource.Resource, Namespace: object.GetNamespace()}
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// mayAll asks the API server for all needs at once, so that nothing is begun that cannot be ended.
func (c *cluster) mayAll(ctx context.Context, needs []need) error {
	var mu sync.Mutex
	var refused []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	for _, one := range needs {
		group.Go(func() error {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &one}}
			answer, err := c.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask %s what you may do: %w", c.Title, err)
			}
			if !answer.Status.Allowed {
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, "  "+describe(one))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil || len(refused) == 0 {
		return err
	}
	slices.Sort(refused)
	return fmt.Errorf("you lack permissions in %s, so nothing was done; missing are\n%s\nask for them, or choose somebody who has them by --context", c.Title, strings.Join(refused, "\n"))
}

// describe is a need in the words of `kubectl auth can-i`.
func describe(n need) string {
	what := n.Resource
	if n.Group != "" {
		what += "." + n.Group
	}
	if n.Subresource != "" {
		what += "/" + n.Subresource
	}
	if n.Namespace != "" {
		return fmt.Sprintf("%s %s in namespace %s", n.Verb, what, n.Namespace)
	}
	return n.Verb + " " + what
}
