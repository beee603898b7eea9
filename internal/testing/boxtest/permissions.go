package boxtest

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// May waits until a user has a permission in the test's namespace: an API server receives a Role with a delay.
func (w *Fixture) May(user, verb, group, resource string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s to be let %s %s", user, verb, resource), func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.Namespace, Verb: verb, Group: group, Resource: resource},
		}}
		if err := w.Client.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return fmt.Errorf("it is not: %s", review.Status.Reason)
		}
		return nil
	})
}

// MayAllBut gives the user limited all permissions for Boxes, and all except one verb for ConfigMaps.
func (w *Fixture) MayAllBut(missing string) *rbacv1.Role {
	w.Helper()
	verbs := slices.DeleteFunc([]string{"get", "list", "watch", "create", "patch", "delete"}, func(v string) bool { return v == missing })
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "limited", Namespace: w.Namespace},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"test.operon.dev", "events.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
		},
	}
	w.Must(w.Client.Create(w.Context(), role))
	w.Must(w.Client.Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "limited", Namespace: w.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "limited"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "limited"}},
	}))
	return role
}
