package deploy_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/up"
)

// A user who may neither list, create nor delete namespaces and definitions deploys an operator where these exist, updates it, and removes it again.
func TestDeployInANamespaceOfAnotherUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.env.InstallCRDs(t, filepath.Join(f.dir, "config", "crd"))
	namespaces := f.client.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace()}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.removeNamespace(t) })
	all := []string{"get", "list", "create", "patch", "delete"}
	kubeconfig := f.user(t,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{f.namespace()}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"gadgets." + f.group}, Verbs: []string{"get", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{f.group}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{"", "apps", "policy", "networking.k8s.io", "coordination.k8s.io"}, Verbs: all, Resources: []string{
			"configmaps", "secrets", "services", "serviceaccounts", "pods", "pods/log", "deployments", "replicasets", "poddisruptionbudgets", "networkpolicies", "leases",
		}},
		rbacv1.PolicyRule{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}, Verbs: append(all, "bind", "escalate")},
		rbacv1.PolicyRule{APIGroups: []string{"admissionregistration.k8s.io", "apiregistration.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"list", "delete"}},
	)
	where := up.Where{Kubeconfig: kubeconfig}
	for _, image := range []string{"registry.example.com/gadget:1.0", "registry.example.com/gadget:1.1"} {
		if _, said, err := f.deploy(t, func(o *deploy.Options) { o.Where, o.Image = where, image }); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	if _, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.Where, o.KeepData = where, true }); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if _, err := namespaces.Get(t.Context(), f.namespace(), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// user returns the kubeconfig of a user with these permissions in the whole cluster.
func (f *fixture) user(t *testing.T, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	kubeconfig := f.nobody(t)
	accounts, err := f.client.CoreV1().ServiceAccounts(f.env.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := f.name + "-user"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
	for _, account := range accounts.Items {
		if strings.HasPrefix(account.Name, "nobody-") {
			binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name})
		}
	}
	access := f.client.RbacV1()
	_, err = access.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	if err == nil {
		_, err = access.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(access.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}), access.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
	return kubeconfig
}
