package helm

import (
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
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
