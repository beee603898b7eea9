package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Pods are kept only for a selector that matches all of them.
func TestSelectsAll(t *testing.T) {
	t.Parallel()
	workload := func(labels map[string]any, expressions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": map[string]any{"matchLabels": labels, "matchExpressions": expressions}}}}
	}
	in := func(value string) any {
		return map[string]any{"key": "tier", "operator": "In", "values": []any{value}}
	}
	older := workload(map[string]any{"app": "web", "part": "a"}, in("front"))
	for name, test := range map[string]struct {
		newer *unstructured.Unstructured
		want  bool
	}{
		"the same":              {workload(map[string]any{"app": "web", "part": "a"}, in("front")), true},
		"fewer labels":          {workload(map[string]any{"app": "web"}, in("front")), true},
		"fewer expressions":     {workload(map[string]any{"app": "web"}), true},
		"another value":         {workload(map[string]any{"app": "web", "part": "b"}), false},
		"one label more":        {workload(map[string]any{"app": "web", "part": "a", "new": ""}), false},
		"another expression":    {workload(map[string]any{"app": "web"}, in("back")), false},
		"one expression more":   {workload(map[string]any{"app": "web"}, in("front"), in("back")), false},
		"a label with no value": {workload(map[string]any{"other": ""}), false},
	} {
		if got := selectsAll(older, test.newer); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
