package operon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespaces returns the namespaces that the operator is limited to, in order. It returns none if there is no limit.
func (c Config) namespaces() []string {
	var names []string
	for _, name := range append([]string{c.Namespace}, c.Namespaces...) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// namespaces returns the namespaces in the flag, separated by commas.
func (f *flags) namespaces() []string {
	var names []string
	for name := range strings.SplitSeq(f.namespace, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// cacheOf returns cache settings that are limited to namespaces. No namespaces means no limit.
func cacheOf(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	limited := map[string]cache.Config{}
	for _, name := range namespaces {
		limited[name] = cache.Config{}
	}
	return limited
}

// findNamespaces returns an error if a namespace does not exist, because its watches would never receive an event. If
// the operator may not read a namespace, it is assumed to exist: a Role in the namespace need not allow this, and
// forbidden requests would show in audit logs.
func (c *caches) findNamespaces(ctx context.Context, direct client.Client) error {
	for _, name := range slices.Sorted(maps.Keys(c.namespaces)) {
		err := findNamespace(ctx, direct, name)
		if ctx.Err() != nil {
			return nil // a shutdown is not an error
		}
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace %q does not exist: create it, or name another one", name)
		}
		if err != nil {
			return fmt.Errorf("find namespace %q: %w", name, err)
		}
	}
	return nil
}

// findNamespace reads a namespace if the operator has the permission.
func findNamespace(ctx context.Context, direct client.Client, name string) error {
	if may, err := mayRead(ctx, direct, name); err != nil || !may {
		return err
	}
	err := direct.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if apierrors.IsForbidden(err) {
		return nil // permissions are not the only reason for a rejection
	}
	return err
}

// mayRead asks the API server whether the operator may read a namespace. If it may not create the review, it returns
// false.
func mayRead(ctx context.Context, direct client.Client, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Name: namespace, Verb: "get", Version: "v1", Resource: "namespaces",
		},
	}}
	err := direct.Create(ctx, review)
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return review.Status.Allowed, err
}
