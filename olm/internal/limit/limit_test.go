package limit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/olm/internal/limit"
)

// cluster allows what is in it, as "namespace verb resource.group name".
type cluster []string

func (c cluster) Allowed(_ context.Context, _ client.ObjectKey, namespace string, rule rbacv1.PolicyRule) (bool, error) {
	for _, verb := range rule.Verbs {
		for _, resource := range rule.Resources {
			what := strings.TrimSpace(fmt.Sprintf("%s %s %s.%s %s", namespace, verb, resource, rule.APIGroups[0], strings.Join(rule.ResourceNames, ",")))
			if !slices.Contains(c, what) {
				return false, nil
			}
		}
	}
	return true, nil
}

func (cluster) Resource(kind schema.GroupVersionKind) (string, error) {
	if kind.Group == "unknown" {
		return "", nil
	}
	return strings.ToLower(kind.Kind) + "s", nil
}

func TestMissing(t *testing.T) {
	t.Parallel()
	rbac := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: kind}
	}
	named := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	pods := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}}
	deployment := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: named("n", "d")}
	unknown := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "unknown/v1", Kind: "Deployment"}, ObjectMeta: named("n", "d")}
	role := &rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: named("n", "r"), Rules: pods}
	bindsOwn := &rbacv1.RoleBinding{TypeMeta: rbac("RoleBinding"), ObjectMeta: named("n", "b"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}}
	clusterRole := &rbacv1.ClusterRole{TypeMeta: rbac("ClusterRole"), ObjectMeta: named("", "r"), Rules: pods}
	aggregated := &rbacv1.ClusterRole{TypeMeta: rbac("ClusterRole"), ObjectMeta: named("", "a"), AggregationRule: &rbacv1.AggregationRule{}}
	bindsAdmin := &rbacv1.ClusterRoleBinding{TypeMeta: rbac("ClusterRoleBinding"), ObjectMeta: named("", "b"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"}}
	roles := cluster{
		"n create roles.rbac.authorization.k8s.io", "n update roles.rbac.authorization.k8s.io", "n delete roles.rbac.authorization.k8s.io",
		"n create rolebindings.rbac.authorization.k8s.io", "n update rolebindings.rbac.authorization.k8s.io", "n delete rolebindings.rbac.authorization.k8s.io",
	}
	for what, test := range map[string]struct {
		allowed cluster
		objects []client.Object
		want    string
	}{
		"an object":            {nil, []client.Object{deployment}, "create, update, delete deployments.apps in the namespace n"},
		"a part is missing":    {cluster{"n create deployments.apps", "n update deployments.apps"}, []client.Object{deployment}, "create, update, delete deployments.apps in the namespace n"},
		"everything":           {cluster{"n create deployments.apps", "n update deployments.apps", "n delete deployments.apps"}, []client.Object{deployment, deployment}, ""},
		"an unknown kind":      {nil, []client.Object{unknown}, ""},
		"a role":               {roles, []client.Object{role, bindsOwn}, "list pods in the namespace n"},
		"a role it has itself": {append(roles, "n list pods."), []client.Object{role, bindsOwn}, ""},
		"only its namespace":   {cluster{"n list pods."}, []client.Object{clusterRole}, "create, update, delete clusterroles.rbac.authorization.k8s.io in the cluster; list pods in the cluster"},
		"a foreign role": {nil, []client.Object{bindsAdmin},
			"create, update, delete clusterrolebindings.rbac.authorization.k8s.io in the cluster; bind clusterroles.rbac.authorization.k8s.io cluster-admin in the cluster"},
		"an aggregated role": {nil, []client.Object{aggregated}, "create, update, delete clusterroles.rbac.authorization.k8s.io in the cluster; * *.* in the cluster"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			missing, err := limit.Missing(t.Context(), test.allowed, client.ObjectKey{Namespace: "n", Name: "limited"}, test.objects)
			if got := strings.Join(missing, "; "); err != nil || got != test.want {
				t.Errorf("missing: %s, error %v, want %s", got, err, test.want)
			}
		})
	}
}

// The objects stay as they are, also those without a type.
func TestObjectsAreNotChanged(t *testing.T) {
	t.Parallel()
	role := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "r"},
	}}
	if _, err := limit.Missing(t.Context(), cluster{}, client.ObjectKey{}, []client.Object{role}); err != nil || role.GetName() != "r" {
		t.Errorf("the object is %v, error %v", role, err)
	}
}

// A status lists only the first of many.
func TestManyMissing(t *testing.T) {
	t.Parallel()
	var all []client.Object
	for i := range 25 {
		all = append(all, &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: fmt.Sprint("K", i)}})
	}
	missing, err := limit.Missing(t.Context(), cluster{}, client.ObjectKey{}, all)
	if err != nil || len(missing) != 11 || missing[10] != "and 15 more" {
		t.Errorf("missing: %v, error %v", missing, err)
	}
}
