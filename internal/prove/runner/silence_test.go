package runner

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/quiesce"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// The known facts about a step are its position, whether a state is expected, and whether a fault may still be injected.
func TestKnown(t *testing.T) {
	t.Parallel()
	pace := Pace{
		Reached: func(string, []*unstructured.Unstructured) bool { return true },
		Knows:   func(step string) bool { return step != "unknown" },
	}
	two := []workload.Step{{Name: "create"}, {Name: "unknown"}}
	for _, c := range []struct {
		name   string
		seen   []runlog.Step
		faults []fault.Fault
		want   quiesce.Step
	}{
		{name: "the first", seen: []runlog.Step{{Name: "create"}}, want: quiesce.Step{First: true, Expected: true}},
		{name: "a fault of this step", seen: []runlog.Step{{Name: "create"}}, faults: []fault.Fault{kill("create")}, want: quiesce.Step{First: true, Expected: true, AwaitsFault: true}},
		{name: "a fault of any step", seen: []runlog.Step{{Name: "create"}}, faults: []fault.Fault{kill("")}, want: quiesce.Step{First: true, Expected: true, AwaitsFault: true}},
		{name: "a fault of another step", seen: []runlog.Step{{Name: "create"}}, faults: []fault.Fault{kill("unknown")}, want: quiesce.Step{First: true, Expected: true}},
		{name: "the last, of which nothing is known", seen: []runlog.Step{{}, {Name: "unknown"}}, want: quiesce.Step{Last: true}},
		{name: "one that was refused", seen: []runlog.Step{{}, {Name: "unknown", Refused: "is invalid"}}, want: quiesce.Step{Last: true, Refused: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			script, err := fault.NewScript(c.faults...)
			if err != nil {
				t.Fatal(err)
			}
			w := &world{script: script, pace: pace, plan: testplan.Plan{Workload: workload.Workload{Steps: two}}, trace: &runlog.Trace{Steps: c.seen}}
			if got := w.known(&workload.Step{Name: c.seen[len(c.seen)-1].Name}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func kill(step string) fault.Fault {
	return fault.Fault{Kind: fault.Kill, On: fault.Match{Verb: "create", Step: step}}
}
