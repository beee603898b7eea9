package engine_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/engine"
)

// The result of a run is part of a condition, in JSON as well as in unstructured objects.
func TestAnsibleResult(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"success": `{"observedGeneration":2,"conditions":[{"type":"Running","status":"True","lastTransitionTime":null,"reason":"Successful","message":"","ansibleResult":{"ok":1,"changed":2,"skipped":3,"failures":0,"completion":"now"}},{"type":"Ready","status":"True","lastTransitionTime":null,"reason":"","message":""}]}`,
		"failure": `{"conditions":[{"type":"Running","status":"False","lastTransitionTime":null,"reason":"Failed","message":""},{"type":"Failure","status":"True","lastTransitionTime":null,"reason":"Failed","message":"","ansibleResult":{"ok":1,"changed":2,"skipped":3,"failures":4,"completion":"now"}}]}`,
		"none":    `{"lastRun":{"input":"a","ended":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var status engine.Status
			if err := json.Unmarshal([]byte(text), &status); err != nil {
				t.Fatal(err)
			}
			if (status.AnsibleResult == nil) != (name == "none") || status.AnsibleResult != nil && status.AnsibleResult.Changed != 2 {
				t.Errorf("the result is %+v", status.AnsibleResult)
			}
			again, err := json.Marshal(status)
			if err != nil || string(again) != text {
				t.Errorf("%s, %v; want %s", again, err, text)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&engine.Object{Status: status})
			if err != nil {
				t.Fatal(err)
			}
			var object engine.Object
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &object); err != nil {
				t.Fatal(err)
			}
			if again, err := json.Marshal(object.Status); err != nil || string(again) != text {
				t.Errorf("unstructured: %s, %v; want %s", again, err, text)
			}
		})
	}
}
