package prove

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// aFile returns the content of a file as Write encodes it.
func aFile(t testing.TB) string {
	t.Helper()
	box := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a.example/v1", "kind": "Box", "metadata": map[string]any{"name": "one"}}}
	content, err := json.MarshalIndent(File{
		Format: fileFormat, Target: Target{Dir: "/project"},
		Plan: testplan.Plan{
			Name: "one", Why: "because",
			Workload: workload.Workload{Name: "w", Steps: []workload.Step{
				{Name: "create", Apply: []*unstructured.Unstructured{box}},
				{Name: "back", Apply: []*unstructured.Unstructured{box}, Same: "create"},
			}},
			Faults: []fault.Fault{{Kind: fault.Kill, Moment: fault.Effect, On: fault.Match{Verb: "create", Nth: 2}}},
		},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestParseTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := aFile(t)
	if _, err := parse([]byte(good)); err != nil {
		t.Fatalf("%v in\n%s", err, good)
	}
	for name, test := range map[string]struct{ old, with, want string }{
		"nothing":          {good, "", "want format: operon-prove/1"},
		"a text":           {good, "hello", "not a plan file"},
		"no YAML":          {`"name": "one"`, `"name": [`, "not a plan file: yaml: line"},
		"another version":  {"operon-prove/1", "operon-prove/7", `format "operon-prove/7" is not supported, only "operon-prove/1"`},
		"an unknown field": {`"why": "because"`, `"when": "now"`, `line 11: unknown field "when"`},
		"a nested one":     {`"verb": "create"`, `"verv": "create"`, `line 47: unknown field "verv"`},
		"no such fault":    {`"kind": "kill"`, `"kind": "bill"`, `unknown fault "bill"`},
		"an object":        {`"kind": "Box"`, `"kin": "Box"`, "Object 'Kind' is missing"},
		"a step":           {`"same": "create"`, `"same": "nothing"`, "no earlier step"},
	} {
		text := strings.Replace(good, test.old, test.with, 1)
		_, err := parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in\n%s", name, err, test.want, text)
		}
	}
}

// Any content that can be read can be written and read again without a change.
func FuzzParse(f *testing.F) {
	f.Add([]byte(aFile(f)))
	f.Add([]byte("format: operon-prove/1\nplan: {workload: {steps: [{}]}}"))
	f.Add([]byte(`{"format": "operon-prove/1", "plan": {"workload": {"name": "a", "steps": [{"name": "b", "heal": true}]}}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		read, err := parse(content)
		if err != nil {
			return
		}
		written, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if !equality.Semantic.DeepEqual(read, again) {
			t.Errorf("%+v\nbecomes\n%+v", read, again)
		}
	})
}
