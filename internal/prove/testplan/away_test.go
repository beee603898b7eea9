package testplan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// An operator that is killed before a change that removes something sees only the state after it.
func TestAway(t *testing.T) {
	t.Parallel()
	box := func(spec map[string]any) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "boxe", "metadata": map[string]any{"name": "a"}, "spec": spec,
		}}}
	}
	watching := runlog.Trace{Namespace: "world"}
	add(&watching, []string{"watch", "boxes"})
	add(&watching, []string{"step", "create"})
	add(&watching, []string{"ADDED", "boxes/a"})
	type spec = map[string]any
	service := map[string]any{"port": int64(80)}
	for name, test := range map[string]struct {
		before, after spec
		refs          []runlog.Trace
		want          bool
	}{
		"a block":       {spec{"size": int64(1), "service": service}, spec{"size": int64(1)}, []runlog.Trace{watching}, true},
		"an item":       {spec{"in": spec{"list": []any{"a", "b"}}}, spec{"in": spec{"list": []any{"a"}}}, []runlog.Trace{watching}, true},
		"a number":      {spec{"size": int64(1)}, spec{}, []runlog.Trace{watching}, false},
		"more":          {spec{}, spec{"service": service}, []runlog.Trace{watching}, false},
		"without watch": {spec{"service": service}, spec{}, nil, false},
	} {
		p := testplan.Plan{Name: "w", Workload: workload.Workload{Name: "w", Steps: []workload.Step{
			{Name: "create", Apply: box(test.before)}, {Name: "change", Apply: box(test.after)},
		}}}
		got, away := testplan.Away(p, test.refs)
		if away != test.want {
			t.Errorf("%s: %v", name, away)
		}
		want := fault.Match{Verb: fault.Event, Group: "example.com", Resource: "boxes", Name: "a", Type: "MODIFIED", Step: "change", Nth: 1}
		if away && (len(got.Faults) != 1 || got.Faults[0].Kind != fault.Kill || got.Faults[0].On != want) {
			t.Errorf("%s: the faults are %+v", name, got.Faults)
		}
	}
}
