package rbac_test

import (
	"reflect"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	controllertools "sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

func TestString(t *testing.T) {
	t.Parallel()
	for want, permission := range map[string]rbac.Permission{
		"get pods": {Verb: "get", Resource: "pods"},
		`update deployments.apps/scale "web" in namespace shop`: {Verb: "update", Group: "apps", Resource: "deployments/scale", Name: "web", Namespace: "shop"},
		"get /metrics":     {Verb: "get", URL: "/metrics"},
		"deployments.apps": {Group: "apps", Resource: "deployments"},
	} {
		if got := permission.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	pods := rbac.Permission{Verb: "get", Resource: "pods"}
	for name, test := range map[string]struct {
		granted, needed rbac.Permission
		want            bool
	}{
		"the-same":          {pods, pods, true},
		"another-verb":      {pods, rbac.Permission{Verb: "list", Resource: "pods"}, false},
		"another-group":     {pods, rbac.Permission{Verb: "get", Group: "metrics.k8s.io", Resource: "pods"}, false},
		"subresource":       {pods, rbac.Permission{Verb: "get", Resource: "pods/log"}, false},
		"every-verb":        {rbac.Permission{Verb: "*", Resource: "pods"}, pods, true},
		"every-group":       {rbac.Permission{Verb: "get", Group: "*", Resource: "pods"}, pods, true},
		"every-subresource": {rbac.Permission{Verb: "get", Resource: "*/log"}, rbac.Permission{Verb: "get", Resource: "pods/log"}, true},
		"one-object":        {rbac.Permission{Verb: "get", Resource: "pods", Name: "a"}, pods, false},
		"of-all-objects":    {pods, rbac.Permission{Verb: "get", Resource: "pods", Name: "a"}, true},
		"paths":             {rbac.Permission{Verb: "get", URL: "/debug/*"}, rbac.Permission{Verb: "get", URL: "/debug/pprof"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.granted.Covers(test.needed); got != test.want {
				t.Errorf("%s covers %s: %v", test.granted, test.needed, got)
			}
		})
	}
}

// Rules and Permissions are inverse, and rules that can be combined become one.
func TestRules(t *testing.T) {
	t.Parallel()
	rules := []rbacv1.PolicyRule{
		{NonResourceURLs: []string{"/debug", "/metrics"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{"apps"}, Resources: []string{"daemonsets", "deployments/scale"}, Verbs: []string{"get", "list", "watch"}},
	}
	var permissions []rbac.Permission
	for _, rule := range rules {
		permissions = append(permissions, rbac.Permissions(rule)...)
	}
	slices.Reverse(permissions)
	if got := rbac.Rules(append(permissions, permissions...)); !reflect.DeepEqual(got, rules) {
		t.Errorf("got %v", got)
	}
	all := rbac.Permission{Verb: "patch", Resource: "configmaps"}
	if got := rbac.Rules(append(permissions, all)); len(got[1].ResourceNames) > 0 || len(got) != len(rules) {
		t.Errorf("what is granted for all objects is granted for two, too: %v", got)
	}
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]rbac.Permission{
		`+kubebuilder:rbac:groups="",resources=pods/log,verbs=get;list`:                                       {Resource: "pods/log"},
		`+kubebuilder:rbac:groups=apps,namespace=system,resources=deployments,resourceNames=a,verbs=get;list`: {Group: "apps", Namespace: "system", Resource: "deployments", Name: "a"},
	} {
		if got := rbac.Marker(of, "get", "list"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		value, err := controllertools.RuleDefinition.Parse(want)
		if err != nil {
			t.Fatal(err)
		}
		rule, ok := value.(controllertools.Rule)
		same := rbacv1.PolicyRule{APIGroups: rule.Groups, Resources: rule.Resources, ResourceNames: rule.ResourceNames, Verbs: rule.Verbs}
		if !ok || rule.Namespace != of.Namespace || !reflect.DeepEqual(same, of.Rule("get", "list")) {
			t.Errorf("controller-gen reads %s as %v", want, rule)
		}
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	got := rbac.Permission{Verb: "get", Resource: "pods/log", Namespace: "shop"}.Attributes()
	if got.Resource != "pods" || got.Subresource != "log" || got.Verb != "get" || got.Namespace != "shop" {
		t.Errorf("%+v", got)
	}
}
