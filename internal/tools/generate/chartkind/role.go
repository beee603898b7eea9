package chartkind

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/engine/helm"
)

// Verbs for the objects that an operator creates, and for the objects that it reads.
var (
	managing = []string{"create", "delete", "get", "list", "patch", "watch"}
	reading  = []string{"get", "list", "watch"}
)

// maxVariants limits how often a chart is rendered.
const maxVariants = 200

// RoleFile is the usual name of the file with the Roles.
const RoleFile = "role.yaml"

// Roles returns the ClusterRole and the Role of an operator for the objects of kinds, as YAML with Mark.
func Roles(ctx context.Context, operator string, kinds ...Kind) ([]byte, error) {
	r := rules{}
	for _, kind := range kinds {
		if err := r.addKind(ctx, kind); err != nil {
			return nil, err
		}
	}
	r.allow("", "events", "create", "patch")
	r.allow("events.k8s.io", "events", "create", "patch")
	r.allow("", "secrets", reading...) // for releases that are taken over
	all := &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: operator}, Rules: r.list(),
	}
	leases := rules{}
	leases.allow("coordination.k8s.io", "leases", "create", "get", "update")
	own := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Name: operator, Namespace: "system"}, Rules: leases.list(),
	}
	text := bytes.NewBufferString(Mark)
	for _, role := range []any{all, own} {
		content, err := yaml.Marshal(role)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(text, "---\n%s", content)
	}
	return text.Bytes(), nil
}

// addKind adds the permissions that the objects of a kind need. Its chart is rendered with its default values, then with all boolean values
// set to true, and then with each of them inverted, so that kinds of optional parts are included. Variants that the chart rejects are left
// out.
func (r rules) addKind(ctx context.Context, kind Kind) error {
	preview, err := kind.Chart.Preview(ctx, "release-name", nil)
	if err != nil {
		return err
	}
	r.add(preview)
	values, _ := kind.Chart.Values()
	variants := append([]map[string]any{switchedOn(values)}, switches(values)...)
	for _, variant := range variants[:min(len(variants), maxVariants)] {
		if preview, err := kind.Chart.Preview(ctx, "release-name", variant); err == nil {
			r.add(preview)
		}
	}
	if kind.Stores {
		r.allow("", "secrets", managing...)
	}
	plural := Plural(kind.Kind)
	r.allow(kind.Group, plural, reading...)
	r.allow(kind.Group, plural, "patch") // finalizers
	r.allow(kind.Group, plural+"/finalizers", "update")
	r.allow(kind.Group, plural+"/status", "patch")
	return nil
}

// rules are the allowed verbs by resource.
type rules map[schema.GroupResource]map[string]bool

func (r rules) allow(group, resource string, verbs ...string) {
	of := schema.GroupResource{Group: group, Resource: resource}
	if r[of] == nil {
		r[of] = map[string]bool{}
	}
	for _, verb := range verbs {
		r[of][verb] = true
	}
}

// add adds the permissions that a rendered release needs.
func (r rules) add(preview *helm.Preview) {
	for _, object := range slices.Concat(preview.Objects, preview.Hooks) {
		r.allowKind(object.GroupVersionKind(), managing)
		r.grant(object)
	}
	for _, kind := range preview.Reads {
		r.allowKind(kind, reading)
	}
	if preview.Generates {
		r.allow("", "secrets", managing...)
	}
}

func (r rules) allowKind(kind schema.GroupVersionKind, verbs []string) {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	r.allow(resource.Group, resource.Resource, verbs...)
}

// grant adds the permissions that a Role of the chart grants, because a client can only grant permissions that it has.
func (r rules) grant(object *unstructured.Unstructured) {
	if object.GroupVersionKind().Group != rbacv1.GroupName {
		return
	}
	var role rbacv1.ClusterRole // a Role has the same rules
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
		return // the API server will reject it
	}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				r.allow(group, resource, rule.Verbs...)
			}
		}
	}
}

// list returns the rules in order.
func (r rules) list() []rbacv1.PolicyRule {
	var list []rbacv1.PolicyRule
	for of, verbs := range r {
		list = append(list, rbacv1.PolicyRule{APIGroups: []string{of.Group}, Resources: []string{of.Resource}, Verbs: slices.Sorted(maps.Keys(verbs))})
	}
	slices.SortFunc(list, func(a, b rbacv1.PolicyRule) int {
		return slices.Compare(append(a.APIGroups, a.Resources...), append(b.APIGroups, b.Resources...))
	})
	return list
}

// switchedOn returns values that set every boolean of the chart to true.
func switchedOn(values map[string]any) map[string]any {
	on := map[string]any{}
	for key, value := range values {
		switch value := value.(type) {
		case bool:
			on[key] = true
		case map[string]any:
			on[key] = switchedOn(value)
		}
	}
	return on
}

// switches returns values, each of which inverts one boolean of the chart.
func switches(values map[string]any) []map[string]any {
	var all []map[string]any
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch value := values[key].(type) {
		case bool:
			all = append(all, map[string]any{key: !value})
		case map[string]any:
			for _, below := range switches(value) {
				all = append(all, map[string]any{key: below})
			}
		}
	}
	return all
}
