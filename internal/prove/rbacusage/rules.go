package rbacusage

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// Rules returns the fewest rules that grant exactly the needed permissions, in the order of
// controller-gen.
func (n Needs) Rules() []rbacv1.PolicyRule {
	var all []rbac.Permission
	for _, need := range n {
		one := need.Permission
		if !need.Fixed {
			one.Name = ""
		}
		all = append(all, one)
	}
	return rbac.Rules(all)
}

// Role returns a Role with the fewest rules that grant the needed permissions. It returns a ClusterRole if a permission
// is needed in the whole cluster or on a URL.
func (n Needs) Role(name string) *unstructured.Unstructured {
	kind := "Role"
	if slices.ContainsFunc(n, func(need Need) bool { return need.Wide || need.URL != "" }) {
		kind = "ClusterRole"
	}
	var rules []any
	for _, rule := range n.Rules() {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&rule)
		if err == nil { // cannot fail: a rule contains only lists of strings
			rules = append(rules, fields)
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"name": name}, "rules": rules,
	}}
}

// YAML returns the [Needs.Role] as the content of a file.
func (n Needs) YAML(name string) ([]byte, error) {
	content, err := yaml.Marshal(n.Role(name).Object)
	return append([]byte("---\n"), content...), err
}

func usualPlural(kind schema.GroupKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource()
}
