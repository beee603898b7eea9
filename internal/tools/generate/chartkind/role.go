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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/tools/project"
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
	r.addRelease(preview)
	values, _ := kind.Chart.Values()
	variants := append([]map[string]any{switchedOn(values)}, switches(values)...)
	for _, variant := range variants[:min(len(variants), maxVariants)] {
		if preview, err := kind.Chart.Preview(ctx, "release-name", variant); err == nil {
			r.addRelease(preview)
		}
	}
	if kind.Stores {
		r.allow("", "secrets", managing...)
	}
	plural := project.Plural(kind.Kind)
	r.allow(kind.Group, plural, reading...)
	r.allow(kind.Group, plural, "patch") // finalizers
	r.allow(kind.Group, plural+"/finalizers", "update")
	r.allow(kind.Group, plural+"/status", "patch")
	return nil
}

// rules are the allowed verbs by what they are for.
type rules map[target]map[string]bool

// target is a resource, only its object with a name if that is set, or else a path that is not of a resource.
type target struct{ group, resource, name, path string }

func (r rules) allow(group, resource string, verbs ...string) {
	r.add(target{group: group, resource: resource}, verbs...)
}

func (r rules) add(of target, verbs ...string) {
	if r[of] == nil {
		r[of] = map[string]bool{}
	}
	for _, verb := range verbs {
		r[of][verb] = true
	}
}

// addRelease adds the permissions that a rendered release needs.
func (r rules) addRelease(preview *helm.Preview) {
	objects := slices.Concat(preview.Objects, preview.Hooks)
	for _, object := range objects {
		r.allowKind(object.GroupVersionKind(), managing)
		r.grant(object)
		r.bind(object, objects)
	}
	for _, kind := range preview.Reads {
		r.allowKind(kind, reading)
	}
	if preview.Generates {
		r.allow("", "secrets", managing...)
	}
}

func (r rules) allowKind(kind schema.GroupVersionKind, verbs []string) {
	resource := project.Plural(kind.Kind)
	if clientgoscheme.Scheme.Recognizes(kind) {
		known, _ := meta.UnsafeGuessKindToResource(kind)
		resource = known.Resource
	}
	r.allow(kind.Group, resource, verbs...)
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
		for _, path := range rule.NonResourceURLs {
			r.add(target{path: path}, rule.Verbs...)
		}
	}
}

// bind adds the permission to bind a Role that is not part of the chart, whose permissions are unknown.
func (r rules) bind(binding *unstructured.Unstructured, chart []*unstructured.Unstructured) {
	kind, _, _ := unstructured.NestedString(binding.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(binding.Object, "roleRef", "name")
	if binding.GroupVersionKind().Group != rbacv1.GroupName || name == "" {
		return
	}
	if !slices.ContainsFunc(chart, func(role *unstructured.Unstructured) bool { return role.GetKind() == kind && role.GetName() == name }) {
		r.add(target{group: rbacv1.GroupName, resource: project.Plural(kind), name: name}, "bind")
	}
}

// list returns the rules in order.
func (r rules) list() []rbacv1.PolicyRule {
	var list []rbacv1.PolicyRule
	for _, of := range slices.SortedFunc(maps.Keys(r), target.compare) {
		rule := rbacv1.PolicyRule{Verbs: slices.Sorted(maps.Keys(r[of]))}
		if of.path != "" {
			rule.NonResourceURLs = []string{of.path}
		} else {
			rule.APIGroups, rule.Resources = []string{of.group}, []string{of.resource}
		}
		if of.name != "" {
			rule.ResourceNames = []string{of.name}
		}
		list = append(list, rule)
	}
	return list
}

func (t target) compare(with target) int {
	return slices.Compare([]string{t.path, t.group, t.resource, t.name}, []string{with.path, with.group, with.resource, with.name})
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
