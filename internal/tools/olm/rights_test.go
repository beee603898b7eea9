package olm_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/tools/olm"
)

func version(namespaced, cluster []rbacv1.PolicyRule) *olm.Version {
	v := &olm.Version{}
	v.Spec.Install.Spec.Permissions = []olm.Permissions{{Rules: namespaced}}
	v.Spec.Install.Spec.ClusterPermissions = []olm.Permissions{{Rules: cluster}}
	return v
}

func rule(verbs, groups, resources []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources}
}

// A permission is new if no permission of the version before includes it, in the same scope or in the cluster.
func TestNewRights(t *testing.T) {
	t.Parallel()
	core := []string{""}
	pods := rule([]string{"get", "list"}, core, []string{"pods"})
	before := version([]rbacv1.PolicyRule{pods}, []rbacv1.PolicyRule{rule([]string{"*"}, []string{"apps"}, []string{"deployments"})})
	after := version(
		[]rbacv1.PolicyRule{rule([]string{"get", "list", "watch"}, core, []string{"pods"}), rule([]string{"update"}, []string{"apps"}, []string{"deployments"})},
		[]rbacv1.PolicyRule{pods, rule([]string{"*"}, []string{"*"}, []string{"*"})},
	)
	var got []string
	for _, right := range after.NewRights(before, false) {
		got = append(got, right.String())
	}
	if want := []string{"may do everything: * *.* in the cluster", "get, list pods in the cluster", "watch pods"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if gone := before.NewRights(after, false); len(gone) != 0 {
		t.Errorf("%v is gone", gone)
	}
	if all := after.NewRights(nil, false); len(all) != 4 {
		t.Errorf("a first version has %d new permissions: %v", len(all), all)
	}
	// In a group that selects all namespaces, both scopes are the cluster.
	if left := version(nil, []rbacv1.PolicyRule{pods}).NewRights(before, true); len(left) != 0 {
		t.Errorf("%v is new", left)
	}
}

// A bundle with enormous rules does not take enormous time.
func TestManyRights(t *testing.T) {
	t.Parallel()
	many := make([]string, 3000)
	for i := range many {
		many[i] = string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	huge := []rbacv1.PolicyRule{rule(many, many, many), {Verbs: many, NonResourceURLs: many}}
	got := version(huge, nil).NewRights(version(huge[:1], nil), false)
	if len(got) != 1 || len(got[0].NonResourceURLs) != len(many) {
		t.Errorf("%d new permissions", len(got))
	}
}
