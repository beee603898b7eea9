package ansible

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
)

// A run is given the spec in snake_case, the object as it is, and the variables of watches.yaml, which take precedence.
func TestInput(t *testing.T) {
	t.Parallel()
	object := &engine.Object{Spec: runtime.RawExtension{Raw: []byte(`{"someKey": {"innerKey": 1}, "serial": 9007199254740993, "edition": "small", "text": "{{ 1 }}"}`)}}
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
		"serial": "9007199254740993", "some_key": `{"inner_key":1}`, "edition": `"large"`, "state": `"absent"`, "ansible_operator_meta": `{"name":"one","namespace":"market"}`,
		"_my_market_example_com_stall_spec": `{"edition":"small","serial":9007199254740993,"someKey":{"innerKey":1},"text":"{{ 1 }}"}`,
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

// A spec cannot set variables that control Ansible, however its keys are spelled. They do not prevent a deletion, and watches.yaml may set them.
func TestReservedVariables(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec    string
		as      switches
		refused string
	}{
		"snake case":                {`{"ansible_become": true, "ansible_become_exe": "x"}`, switches{snakeCase: true}, "ansible_become, ansible_become_exe"},
		"camel case":                {`{"ansibleConnection": "ssh"}`, switches{snakeCase: true}, "ansible_connection"},
		"a separator":               {`{"ansible-python interpreter": "x", " ansible_ssh_executable": "x"}`, switches{snakeCase: true}, "ansible_python_interpreter, ansible_ssh_executable"},
		"marked as unsafe":          {`{"ansibleBecome": true}`, switches{snakeCase: true, unsafe: true}, "ansible_become"},
		"as it is":                  {`{"ansible_become": true}`, switches{}, "ansible_become"},
		"all variables":             {`{"__ansible_unsafe": {"ansible_become": true}}`, switches{}, "__ansible_unsafe"},
		"camel case as it is":       {`{"ansibleBecome": true}`, switches{}, ""},
		"underscores":               {`{"_ansible_become": 1, "AnsibleBecomeExe": 1}`, switches{snakeCase: true}, "_ansible_become, _ansible_become_exe"},
		"another name":              {`{"ansible": 1, "myAnsible_become": 1}`, switches{snakeCase: true}, ""},
		"a field of another object": {`{"options": {"ansible_become": true}}`, switches{snakeCase: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &engine.Object{Spec: runtime.RawExtension{Raw: []byte(test.spec)}}
			trusted := map[string]any{"ansible_python_interpreter": "/usr/bin/python3"}
			e := &entry{watch: &engine.Watch{Kind: schema.GroupVersionKind{Group: "a", Kind: "B"}}, vars: trusted, finalizer: &finalizer{}, switches: test.as}
			_, err := e.input(object, false)
			if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), "the variables "+test.refused+", which")) {
				t.Errorf("the error is %v, want one about %q", err, test.refused)
			}
			in, err := e.input(object, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(in.vars)) {
				if strings.HasPrefix(strings.TrimLeft(name, "_"), "ansible_") && !slices.Contains([]string{"ansible_operator_meta", "ansible_python_interpreter"}, name) {
					t.Errorf("the run of the finalizer has the variable %s", name)
				}
			}
			if spec, _ := in.vars["_a_b_spec"].(map[string]any); len(spec) == 0 {
				t.Error("the variable of the whole spec has no fields")
			}
		})
	}
}
