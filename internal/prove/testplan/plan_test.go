package testplan_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// large returns a trace with many requests.
func large(requests int) runlog.Trace {
	t := runlog.Trace{Namespace: "world"}
	random := rand.New(rand.NewPCG(1, 2))
	verbs := []string{"create", "patch", "update", "delete", "get", "list"}
	for i := range requests {
		if i%(requests/10) == 0 {
			add(&t, []string{"step", fmt.Sprint("step-", len(t.Steps))})
		}
		round := i // mostly the same requests again, like an operator
		if random.IntN(20) == 0 {
			round = random.IntN(100)
		}
		add(&t, []string{verbs[round%len(verbs)], fmt.Sprintf("kind%ds/object-%d", round%7%6, random.IntN(200))})
	}
	for i := range 6 {
		add(&t, []string{"watch", fmt.Sprintf("kind%ds", i)})
	}
	return t
}

// A long run results in many plans. The benchmark measures the cost.
func TestLargeReferences(t *testing.T) {
	t.Parallel()
	refs := []runlog.Trace{large(5000), large(5000)}
	plans := testplan.Of(refs, workload.Workload{}, testplan.Options{})
	if len(plans) < 200 {
		t.Errorf("only %d plans", len(plans))
	}
}

func BenchmarkOf(b *testing.B) {
	refs := []runlog.Trace{large(5000), large(5000)}
	for b.Loop() {
		testplan.Of(refs, workload.Workload{}, testplan.Options{Limit: 200})
	}
}

// The same seed results in the same plans, and another seed in other plans of the same promise.
func TestSeeds(t *testing.T) {
	t.Parallel()
	refs := []runlog.Trace{large(500)}
	of := func(seed int64) []testplan.Plan {
		return testplan.Of(refs, workload.Workload{}, testplan.Options{Seed: seed})
	}
	if !reflect.DeepEqual(of(1), of(1)) {
		t.Error("the same seed gives other plans")
	}
	if len(of(1)) != len(of(2)) || reflect.DeepEqual(of(1), of(2)) {
		t.Error("another seed gives the same plans in the same order")
	}
	if limited := testplan.Of(refs, workload.Workload{}, testplan.Options{Seed: 1, Limit: 7}); !reflect.DeepEqual(limited, of(1)[:7]) {
		t.Error("the limit is not of the first")
	}
	if testplan.Of(nil, workload.Workload{}, testplan.Options{}) != nil {
		t.Error("there are plans from nothing")
	}
}

// The first plans are of many classes.
func TestEveryClassIsEarly(t *testing.T) {
	t.Parallel()
	one := large(2000)
	add(&one, []string{"patch", "leases/mine"})
	kinds := map[fault.Kind]bool{}
	for _, p := range testplan.Of([]runlog.Trace{one}, workload.Workload{}, testplan.Options{Limit: 20}) {
		kinds[p.Faults[0].Kind] = true
	}
	if len(kinds) < 9 {
		t.Errorf("the first plans are only of the kinds %v", kinds)
	}
}

func steps(names ...string) []workload.Step {
	var all []workload.Step
	for _, name := range names {
		name, same, _ := strings.Cut(name, "=")
		step := workload.Step{Name: name, Same: same, Apply: []*unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Box", "metadata": map[string]any{"name": "a"},
		}}}}
		all = append(all, step)
	}
	return all
}

func TestSmaller(t *testing.T) {
	t.Parallel()
	kill := func(times int) fault.Fault {
		return fault.Fault{Kind: fault.Kill, On: fault.Match{Verb: "create", Times: times}}
	}
	p := testplan.Plan{Workload: workload.Workload{Name: "w", Steps: steps("create", "change", "back=create", "delete")}, Faults: []fault.Fault{kill(0), kill(3)}}
	var got []string
	for _, smaller := range testplan.Smaller(p) {
		var names []string
		for _, step := range smaller.Workload.Steps {
			names = append(names, step.Name)
		}
		times := 0
		for _, f := range smaller.Faults {
			times += max(f.On.Times, 1)
		}
		got = append(got, fmt.Sprintf("%s: %d faults, %d times", strings.Join(names, " "), len(smaller.Faults), times))
	}
	want := []string{
		"create change back delete: 1 faults, 1 times",
		"create change back delete: 1 faults, 3 times",
		"create: 2 faults, 4 times",
		"create change: 2 faults, 4 times",
		"create change back: 2 faults, 4 times",
		"create change delete: 2 faults, 4 times",
		"create back delete: 2 faults, 4 times",
		"create change back delete: 2 faults, 2 times",
	}
	if !slices.Equal(got, want) {
		t.Errorf("smaller are\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p.Faults[1].On.Times != 3 {
		t.Error("the plan itself was changed")
	}
}

// A step in which a fault is injected, or to which a fault goes back, is not removed.
func TestStepsOfFaults(t *testing.T) {
	t.Parallel()
	p := testplan.Plan{Workload: workload.Workload{Steps: steps("a", "b", "c", "d", "e")}, Faults: []fault.Fault{
		{Kind: fault.Past, Step: "b", On: fault.Match{Step: "d"}},
	}}
	for _, smaller := range testplan.Smaller(p) {
		var names string
		for _, step := range smaller.Workload.Steps {
			names += step.Name
		}
		if !strings.Contains(names, "b") || !strings.Contains(names, "d") || names == "abcde" {
			t.Errorf("of abcde are left %s", names)
		}
	}
	if n := len(testplan.Smaller(p)); n != 2 { // abcd and abde
		t.Errorf("there are %d smaller plans", n)
	}
}

// Repeatedly replacing a plan with a smaller one ends.
func TestShrinkingEnds(t *testing.T) {
	t.Parallel()
	p := testplan.Plan{Workload: workload.Workload{Steps: steps("a", "b=a", "c", "d", "e=c")}, Faults: []fault.Fault{
		{Kind: fault.Kill, On: fault.Match{Times: fault.Always}}, {Kind: fault.Cut}, {Kind: fault.Conflict},
	}}
	for rounds := 0; ; rounds++ {
		smaller := testplan.Smaller(p)
		if len(smaller) == 0 {
			break
		}
		if rounds > 50 {
			t.Fatal("there is always a smaller one")
		}
		p = smaller[len(smaller)-1] // the largest of the smaller plans
	}
	if len(p.Workload.Steps) != 1 || len(p.Faults) != 1 || p.Faults[0].On.Times > 1 {
		t.Errorf("left is %+v", p)
	}
}
