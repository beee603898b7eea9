package installplan

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// readStored makes the plan wait until the manager may list the objects of a kind, which it grants itself for as long as the plan has to check
// what its definition does to them. The manager may not read custom resources otherwise. The ClusterRole and its binding are children of the
// plan, so they are deleted when it is complete or deleted, also by another manager.
func (c *Composer) readStored(ctx context.Context, of *v1alpha1.InstallPlan, definition *unstructured.Unstructured, p *pass, out *operon.Composition) error {
	review, err := c.reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("read the name of the manager's user: %w", err)
	}
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	name := operon.Name(63, "olm-reads-stored-objects", definition.GetName(), string(of.UID))
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: name}
	}
	out.Child(&rbacv1.ClusterRole{
		TypeMeta: kind("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{plural}, Verbs: []string{"list"}}},
	})
	out.Child(&rbacv1.ClusterRoleBinding{
		TypeMeta: kind("ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: review.Status.UserInfo.Username}},
	})
	p.waits = v1alpha1.PlanPlanning
	p.message = fmt.Sprintf("waits until the manager may list the stored objects of CustomResourceDefinition %s", definition.GetName())
	out.Wait(reasonPermission, p.message)
	out.RequeueAfter(timing.permission)
	return nil
}
