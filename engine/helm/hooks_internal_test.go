package helm

import (
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/engine"
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
