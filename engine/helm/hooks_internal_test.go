package helm

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/internal/core/plan"
)

// Hooks are found in all notations that charts use. What cannot be read from the text counts as any hook.
func TestFindHooks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		`"helm.sh/hook": pre-install,pre-upgrade`:                            {true, false},
		`helm.sh/hook: post-delete`:                                          {true, true},
		`'helm.sh/hook' : "pre-upgrade, pre-delete"`:                         {true, true},
		`{{- $_ := set $annotations "helm.sh/hook" "post-install" }}`:        {true, false},
		`"helm.sh/hook": {{ .hookType }}`:                                    {true, true},
		`{{- include "job" (dict "hook" "helm.sh/hook") }}`:                  {true, true},
		`helm.sh/hook: test`:                                                 {false, false},
		`"helm.sh/hook": "test-success"`:                                     {false, false},
		`helm.sh/hook: {{ "test" }}`:                                         {false, false},
		`helm.sh/hook-weight: "1"`:                                           {false, false},
		`helm.sh/hook-delete-policy: before-hook-creation`:                   {false, false},
		`# helm.sh/hook: post-install`:                                       {false, false},
		"helm.sh/hook: test\n---\nhelm.sh/hook: pre-rollback,post-install\n": {true, false},
	} {
		for place, in := range map[string]*chart.Chart{
			"templates": {Metadata: &chart.Metadata{}, Templates: []*common.File{{Name: "templates/a.yaml", Data: []byte(text)}}},
			"values":    {Metadata: &chart.Metadata{}, Raw: []*common.File{{Name: "values.yaml", Data: []byte(text)}}},
		} {
			c := &Chart{}
			c.findHooks(in)
			if got := [2]bool{c.hooks, c.deleteHooks}; got != want {
				t.Errorf("%s in %s: hooks, hooks of a deletion: %v, want %v", text, place, got, want)
			}
		}
	}
}

// Hooks are found by event and name. Those of one event run by weight, and then by name.
func TestHooksOfAnEvent(t *testing.T) {
	t.Parallel()
	of := func(path, kind, name string, weight int, events ...release.HookEvent) *release.Hook {
		return &release.Hook{Path: path, Kind: kind, Name: name, Weight: weight, Events: events}
	}
	r := &rendered{hooks: []*release.Hook{
		of("drop", "Job", "x", 0, release.HookPreDelete), of("role", "Role", "z", 0, release.HookPreInstall, release.HookPostInstall),
		of("create", "Job", "x", 0, release.HookPostInstall), of("elsewhere", "Job", "x", 0, release.HookPostInstall),
		of("account", "ServiceAccount", "a", 0, release.HookPostInstall), of("last", "Job", "a", 1, release.HookPostInstall),
	}}
	for event, want := range map[release.HookEvent]string{
		release.HookPreDelete: "Job x=drop", release.HookPreInstall: "Role z=role",
		release.HookPostInstall: "ServiceAccount a=account, Job x=create, Job x (2)=elsewhere, Role z=role, Job a=last",
	} {
		names, hooks := r.hooksOf(event)
		for i, name := range names {
			names[i] = name + "=" + hooks[name].Path
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("the hooks of %s are %s, want %s", event, got, want)
		}
	}
	steps := wanted{First: []string{"Role z"}, Last: []string{"Job x", "Role z"}}.lastSteps(release.HookPostInstall)
	if got, want := strings.Join(steps, ", "), "Job x, post-install Role z"; got != want {
		t.Errorf("the steps are %s, want %s", got, want)
	}
}

// What an interrupted run of a hook has left is deleted by the next one, in spite of the hook's policy: it would block all revisions.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	job := func(key string, done bool) *unstructured.Unstructured {
		found := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "a", "uid": "1"}}}
		if key != "" {
			found.SetAnnotations(map[string]string{hookKey: key})
		}
		if done {
			_ = unstructured.SetNestedSlice(found.Object, []any{map[string]any{"type": "Complete", "status": "True"}}, "status", "conditions")
		}
		return found
	}
	succeeded := &release.Hook{Kind: "Job", DeletePolicies: []release.HookDeletePolicy{release.HookSucceeded}}
	failed := &release.Hook{Kind: "Job", DeletePolicies: []release.HookDeletePolicy{release.HookFailed}}
	for name, test := range map[string]struct {
		hook  *release.Hook
		found *unstructured.Unstructured
		want  bool
	}{
		"it runs":                    {succeeded, job("old", false), true},
		"it would have been deleted": {succeeded, job("old", true), true},
		"it stays by its policy":     {failed, job("old", true), false},
		"Helm created it":            {succeeded, job("", false), false},
	} {
		if got := abandoned(test.hook, test.found); got != test.want {
			t.Errorf("%s: abandoned %t", name, got)
		}
	}
}

// Only what was created for an object, or for an earlier one of its name, makes way for its hooks.
func TestIsOf(t *testing.T) {
	t.Parallel()
	owner := &engine.Object{TypeMeta: metav1.TypeMeta{APIVersion: "shop.example.com/v1", Kind: "Till"}}
	owner.Name, owner.Namespace, owner.UID = "one", "ours", "new"
	refers := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: uid}}
	}
	type named = map[string]string
	for name, test := range map[string]struct {
		namespace   string
		owners      []metav1.OwnerReference
		annotations named
		labels      named
		want        bool
	}{
		"its own":                                    {"ours", refers("new"), nil, nil, true},
		"its own, cluster-scoped":                    {"", refers("new"), nil, nil, true},
		"of an owner of the same name":               {"", refers("old"), named{"helm.sh/hook": "pre-install"}, nil, false},
		"of an owner of the same name, in its place": {"ours", refers("old"), named{"helm.sh/hook": "pre-install"}, nil, false},
		"of an earlier owner, cluster-scoped":        {"", refers("old"), named{hookOwnerKey: "Till.shop.example.com/ours/one"}, nil, true},
		"of an earlier owner, elsewhere":             {"theirs", nil, named{hookOwnerKey: "Till.shop.example.com/ours/one"}, nil, true},
		"of an owner of the same name elsewhere":     {"theirs", nil, named{"helm.sh/hook": "pre-install", hookOwnerKey: "Till.shop.example.com/theirs/one"}, nil, false},
		"of another owner in this namespace":         {"ours", nil, named{"helm.sh/hook": "pre-install", hookOwnerKey: "Till.shop.example.com/ours/two"}, nil, false},
		"Helm's":                                     {"ours", nil, named{"helm.sh/hook": "pre-install"}, nil, true},
		"Helm's, elsewhere":                          {"theirs", nil, named{"helm.sh/hook": "pre-install"}, nil, false},
		"Helm's, cluster-scoped":                     {"", nil, named{"helm.sh/hook": "pre-install"}, nil, false},
		"Helm's, of another release":                 {"ours", nil, named{"helm.sh/hook": "pre-install", releaseAnnotation: "two"}, nil, false},
		"Helm's, of a release elsewhere":             {"ours", nil, named{"helm.sh/hook": "pre-install", releaseAnnotation: "one", releaseNSAnnotation: "theirs"}, nil, false},
		"Helm's, of this release":                    {"ours", nil, named{"helm.sh/hook": "pre-install", releaseAnnotation: "one", releaseNSAnnotation: "ours"}, nil, true},
		"of the chart, elsewhere":                    {"theirs", nil, nil, named{plan.OwnerLabel: "new"}, true},
		"of the chart of another object":             {"theirs", nil, nil, named{plan.OwnerLabel: "other"}, false},
		"no hook":                                    {"ours", nil, nil, nil, false},
	} {
		found := &unstructured.Unstructured{Object: map[string]any{}}
		found.SetNamespace(test.namespace)
		found.SetOwnerReferences(test.owners)
		found.SetAnnotations(test.annotations)
		found.SetLabels(test.labels)
		if got := isOf(owner, found); got != test.want {
			t.Errorf("%s: belongs to the owner: %t", name, got)
		}
	}
}

// Objects that hold data, or that are to be kept, are not deleted to change a field.
func TestForcedUpgrade(t *testing.T) {
	t.Parallel()
	object := &engine.Object{}
	object.Annotations = map[string]string{forceAnnotation: "true"}
	for kind, want := range map[string]int{"Deployment": 1, "PersistentVolumeClaim": 0, "CustomResourceDefinition": 0, "Namespace": 0} {
		rendered := &unstructured.Unstructured{}
		rendered.SetKind(kind)
		if got := len(optionsOf(object, rendered)); got != want {
			t.Errorf("%s has %d options, want %d", kind, got, want)
		}
		rendered.SetAnnotations(map[string]string{policyAnnotation: "keep"})
		if got := len(optionsOf(object, rendered)); got != 1 { // Orphan
			t.Errorf("%s that is to be kept has %d options", kind, got)
		}
	}
}
