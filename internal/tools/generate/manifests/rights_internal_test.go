package manifests

import (
	"reflect"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// A rule for resources with and without a namespace grants nothing in the whole cluster that is meant for some namespaces.
func TestSplit(t *testing.T) {
	t.Parallel()
	rule := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}}
	}
	metrics := rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}
	global, local := Operator{}.split([]rbacv1.PolicyRule{
		rule("", "namespaces", "secrets", "nodes/status"), rule("networking.k8s.io", "ingressclasses"), rule("apps", "deployments", "deployments/scale"), metrics,
	})
	if want := []rbacv1.PolicyRule{rule("", "namespaces", "nodes/status"), rule("networking.k8s.io", "ingressclasses"), metrics}; !reflect.DeepEqual(global, want) {
		t.Errorf("in the whole cluster: %v, want %v", global, want)
	}
	if want := []rbacv1.PolicyRule{rule("", "secrets"), rule("apps", "deployments", "deployments/scale")}; !reflect.DeepEqual(local, want) {
		t.Errorf("in namespaces: %v, want %v", local, want)
	}
}
