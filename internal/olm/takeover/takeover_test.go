package takeover_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/takeover"
)

func role(name string, labels map[string]string, verbs ...string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}},
	}
}

func binding(name, of, account string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: of},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "caches", Name: account}},
	}
}

// Only what does the same as a declared object is a double: the order of verbs has no meaning, but rules, parts of the roles of Kubernetes,
// aggregation, roles and subjects have.
func TestDoubles(t *testing.T) {
	t.Parallel()
	view := map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}
	aggregated := role("aggregated", nil, "get", "list")
	aggregated.AggregationRule = &rbacv1.AggregationRule{}
	p := takeover.Permissions{Declared: []client.Object{role("new", nil, "get", "list"), binding("new", "new", "operator"), binding("auth", "system:auth-delegator", "operator")}}
	for _, one := range []struct {
		object client.Object
		double bool
	}{
		{role("new", nil, "get", "list"), false}, // the declared one itself
		{role("old", nil, "list", "get"), true},
		{role("more", nil, "list", "get", "watch"), false},
		{role("view", view, "get", "list"), false},
		{aggregated, false},
		{binding("old", "old", "operator"), true},
		{binding("other", "more", "operator"), false},
		{binding("auth-old", "system:auth-delegator", "operator"), true},
		{binding("auth-other", "system:auth-delegator", "other"), false},
	} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(one.object)
		if err != nil {
			t.Fatal(err)
		}
		before := len(p.Doubles)
		if err := p.Add(&unstructured.Unstructured{Object: content}); err != nil {
			t.Fatal(err)
		}
		if double := len(p.Doubles) > before; double != one.double {
			t.Errorf("%T %s: a double is %t, want %t", one.object, one.object.GetName(), double, one.double)
		}
	}
}

// The fields that are applied have one owner. Others keep theirs.
func TestSoleOwner(t *testing.T) {
	t.Parallel()
	entry := func(manager string, how metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: how, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	left, err := takeover.SoleOwner([]metav1.ManagedFieldsEntry{
		entry("olm", metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:replicas":{}}}`),
		entry("olm", metav1.ManagedFieldsOperationUpdate, `{"f:spec":{"f:paused":{},"f:replicas":{}}}`),
		entry("kubectl", metav1.ManagedFieldsOperationUpdate, `{"f:spec":{"f:replicas":{}}}`),
	}, "olm")
	if err != nil || len(left) != 3 || left[1].FieldsV1.GetRawString() != `{"f:spec":{"f:paused":{}}}` || left[2].FieldsV1.GetRawString() != `{"f:spec":{"f:replicas":{}}}` {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := takeover.SoleOwner([]metav1.ManagedFieldsEntry{entry("olm", metav1.ManagedFieldsOperationApply, "nonsense")}, "olm"); err == nil {
		t.Error("an entry that is not valid is accepted")
	}
}
