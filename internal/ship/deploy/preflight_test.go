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

// A user who may neither list, create nor delete namespaces and definitions, and who has no permissions in other namespaces, deploys an operator where these exist, updates it, and removes it again.
func TestDeployInANamespaceOfAnotherUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.env.InstallCRDs(t, filepath.Join(f.dir, "config", "crd"))
	namespaces := f.client.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace()}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.removeNamespace(t) })
	kubeconfig := f.user(t,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{f.namespace()}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"gadgets." + f.group}, Verbs: []string{"get", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{f.group}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list"}},
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

// A user who may not read ConfigMaps of other namespaces keeps the CRDs, which another deployment may use, and a namespace whose objects they
// cannot all list.
func TestUndeployByAUserOfOneNamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("kept"))
	t.Cleanup(func() { f.removeNamespace(t) })
	definition := "gadgets." + f.group
	kubeconfig := f.user(t,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{f.namespace()}, Verbs: []string{"get", "patch", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{definition}, Verbs: []string{"get", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{f.group}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list", "delete"}},
	)
	removal, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.Where = up.Where{Kubeconfig: kubeconfig} })
	if missing := errors.Join(err, lacks(said, "kept CustomResourceDefinition "+definition+": another deployment may use it", "kept 1 custom resource", "kept Namespace "+f.namespace())); missing != nil {
		t.Fatalf("%v\n%+v", missing, removal)
	}
	if kept, err := f.gadgets().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil || kept.GetDeletionTimestamp() != nil {
		t.Errorf("the data: %v", err)
	}
	namespace, err := f.client.CoreV1().Namespaces().Get(t.Context(), f.namespace(), metav1.GetOptions{})
	if err != nil || namespace.Labels["applyset.kubernetes.io/part-of"] != "" {
		t.Errorf("the namespace: %v, %v", namespace, err)
	}
}

// user returns the kubeconfig of a user with these permissions in the whole cluster, beside those for everything else that a deployment needs.
func (f *fixture) user(t *testing.T, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	kubeconfig := f.nobody(t)
	all := []string{"get", "list", "create", "patch", "delete"}
	rules = append(rules, rbacv1.PolicyRule{
		APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}, Verbs: append(all, "bind", "escalate"),
	})
	inside := []rbacv1.PolicyRule{{APIGroups: []string{"", "apps", "policy", "networking.k8s.io", "coordination.k8s.io"}, Verbs: all, Resources: []string{
		"configmaps", "secrets", "services", "serviceaccounts", "pods", "pods/log", "deployments", "replicasets", "poddisruptionbudgets", "networkpolicies", "leases",
	}}}
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
	_, roleErr := access.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	_, bindingErr := access.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	here := metav1.ObjectMeta{Name: name, Namespace: f.namespace()}
	_, insideErr := access.Roles(here.Namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: here, Rules: inside}, metav1.CreateOptions{})
	_, boundErr := access.RoleBindings(here.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: here, Subjects: binding.Subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}, metav1.CreateOptions{})
	if err := errors.Join(roleErr, bindingErr, insideErr, boundErr); err != nil {
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
