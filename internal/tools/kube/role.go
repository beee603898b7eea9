package kube

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ReadRole decodes a Role or a ClusterRole. It returns a Role as a ClusterRole without an aggregation rule.
func ReadRole(object *unstructured.Unstructured) (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return role, nil
}
