package ansible

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
)

// A run is given the spec in snake_case, the object as it is, and the variables of watches.yaml, which take precedence.
func TestInput(t *testing.T) {
	t.Parallel()
	object := &engine.Object{Spec: runtime.RawExtension{Raw: []byte(`{"someKey": {"innerKey": 1}, "edition": "small", "text": "{{ 1 }}"}`)}}
	object.Name, object.Namespace = "one", "market"
	e := &entry{
		watch: &engine.Watch{Kind: schema.GroupVersionKind{Group: "my-market.example.com", Version: "v1", Kind: "Stall"}},
		vars:  map[string]any{"edition": "large"}, finalizer: &finalizer{vars: map[string]any{"state": "absent"}},
		switches: switches{snakeCase: true},
	}
	in, err := e.input(object, true)
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]string{
		"some_key": `{"inner_key":1}`, "edition": `"large"`, "state": `"absent"`, "ansible_operator_meta": `{"name":"one","namespace":"market"}`,
		"_my_market_example_com_stall_spec": `{"edition":"small","someKey":{"innerKey":1},"text":"{{ 1 }}"}`,
	} {
		if got, err := json.Marshal(in.vars[variable]); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", variable, got, err, want)
		}
	}
	e.unsafe, e.snakeCase = true, false
	marked, err := e.input(object, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal([]any{marked.vars["text"], marked.vars["someKey"]}); err != nil || string(got) != `[{"__ansible_unsafe":"{{ 1 }}"},{"innerKey":1}]` {
		t.Errorf("the variables are %s, %v", got, err)
	}
	if marked.digest == in.digest {
		t.Error("the runs of the role and of the finalizer have the same digest")
	}
	object.Annotations = map[string]string{"a": "b"}
	again, err := e.input(object, false)
	if err != nil || again.digest != marked.digest {
		t.Errorf("the digest depends on annotations: %v", err)
	}
	e.annotations = true
	if again, err = e.input(object, false); err != nil || again.digest == marked.digest {
		t.Errorf("the digest does not depend on annotations: %v", err)
	}
	object.Spec.Raw = []byte(`["a"]`)
	if _, err := e.input(object, false); err == nil {
		t.Error("a spec that is a list is accepted")
	}
}
