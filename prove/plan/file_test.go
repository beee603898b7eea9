package plan_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/plan"
	"github.com/operon-framework/operon/prove/workload"
)

func whole() plan.Plan {
	return plan.Plan{
		Name: "kill", Why: "because", Workload: workload.Workload{Name: "w", Steps: steps("create", "back=create")},
		Faults: []fault.Fault{{Kind: fault.Kill, Moment: fault.Effect, On: fault.Match{Verb: "create", Resource: "pods", Nth: 2}}},
	}
}

func TestFilesKeepAll(t *testing.T) {
	t.Parallel()
	text, err := plan.Write(whole())
	if err != nil {
		t.Fatal(err)
	}
	read, err := plan.Read(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !reflect.DeepEqual(read, whole()) {
		t.Errorf("read is %+v", read)
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	good, err := plan.Write(whole())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ old, with, want string }{
		"nothing":          {string(good), "", "does not say format: operon-plan/1"},
		"another version":  {"operon-plan/1", "operon-plan/7", `has the format "operon-plan/7", this program reads "operon-plan/1"`},
		"no YAML":          {"name: kill", "name: [", "this is no plan file: yaml: line"},
		"an unknown field": {"why: because", "why: because\nwhen: now", `line 11: there is no field "when"`},
		"a nested one":     {"verb: create", "verv: create", `line 7: there is no field "verv"`},
		"twice the same":   {"why: because", "why: because\nwhy: not", "already"},
		"no such fault":    {"kind: kill", "kind: bill", `there is no fault "bill"`},
		"no steps":         {"steps:", "stops:", `line 13: there is no field "stops"`},
		"an object":        {"kind: Box", "kin: Box", "Object 'Kind' is missing"},
		"a text":           {string(good), "hello", "this is no plan file"},
		"a step":           {"same: create", "same: nothing", "no earlier step"},
	} {
		text := strings.Replace(string(good), test.old, test.with, 1)
		_, err := plan.Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in\n%s", name, err, test.want, text)
		}
	}
}

func FuzzRead(f *testing.F) {
	good, err := plan.Write(whole())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("format: operon-plan/1\nworkload: {steps: [{}]}"))
	f.Add([]byte(`{"format": "operon-plan/1", "workload": {"name": "a", "steps": [{"name": "b", "heal": true}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := plan.Read(text)
		if err != nil {
			return
		}
		written, err := plan.Write(read)
		if err != nil {
			t.Fatal(err)
		}
		again, err := plan.Read(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if !reflect.DeepEqual(read, again) {
			t.Errorf("%+v\nbecomes\n%+v", read, again)
		}
	})
}
