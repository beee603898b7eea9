package testplan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// A sweep injects its fault at every possible place and nowhere else. Many places result in several plans.
func TestSweeps(t *testing.T) {
	t.Parallel()
	refs, _ := parsed(t, `
trace
step create
watch boxes
watch configmaps
ADDED boxes/a
get secrets/key
create configmaps/a
update boxes.status/a
step change
MODIFIED boxes/a
update configmaps/a
update boxes.status/a
get configmaps/a
update configmaps/b unchanged
`)
	var got []string
	for _, p := range testplan.Sweeps(refs, workload.Workload{Name: "w"}) {
		if _, err := fault.NewScript(p.Faults...); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		var on []string
		for _, f := range p.Faults {
			on = append(on, strings.TrimPrefix(f.String(), string(f.Kind)+" "))
		}
		got = append(got, strings.TrimSuffix(p.Name, " | w")+": "+strings.Join(on, "; "))
	}
	for _, want := range []string{
		"sweep: conflicts: on update boxes/status a #1 in step create; on update configmaps a #1 in step change; on update boxes/status a #1 in step change",
		"sweep: killed after every write: after the effect on create configmaps a #1 in step create; after the effect on update boxes/status a #1 in step create; " +
			"after the effect on update configmaps a #1 in step change; after the effect on update boxes/status a #1 in step change",
		"sweep: stale caches: boxes on event boxes a ADDED #1 in step create; configmaps on event configmaps a ADDED #1 in step create; " +
			"boxes on event boxes a MODIFIED #1 in step change; configmaps on event configmaps a MODIFIED #1 in step change",
		"sweep: conflict with the last write: on update boxes/status a #1 in step create; on update boxes/status a #1 in step change",
		"sweep: away when a custom resource changes: on event boxes a ADDED #1 in step create; on event boxes a MODIFIED #1 in step change",
		"sweep: two instances: on create configmaps a #1 in step create; on update configmaps a #1 in step change",
		"sweep: expired tokens: on create configmaps a #1 in step create; on update configmaps a #1 in step change",
		"sweep: watches end: on watch boxes #1; on watch configmaps #1",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no sweep\n%s\nin\n%s", want, strings.Join(got, "\n"))
		}
	}
	if slices.ContainsFunc(got, func(one string) bool {
		return strings.Contains(one, "configmaps b") || strings.HasPrefix(one, "sweep: failing reads")
	}) {
		t.Errorf("a fault at a write without effect, or a sweep with a single fault:\n%s", strings.Join(got, "\n"))
	}
}

func TestLargeSweepsAreSplit(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("trace\nstep create\n")
	for i := range 30 {
		fmt.Fprintf(&text, "create configmaps/c%d\n", i)
	}
	refs, _ := parsed(t, text.String())
	faults := 0
	for _, p := range testplan.Sweeps(refs, workload.Workload{Name: "w"}) {
		if len(p.Faults) > 12 {
			t.Errorf("%s has %d faults", p.Name, len(p.Faults))
		}
		if strings.Contains(p.Name, "killed after every write, part ") {
			faults += len(p.Faults)
		}
	}
	if faults != 30 {
		t.Errorf("the parts have %d faults of 30", faults)
	}
}

// The views are those of the step before, in steps at whose end the custom resource exists. Whole old views are for operators that delete
// objects.
func TestSweepsOfOldViews(t *testing.T) {
	t.Parallel()
	const trace = `
trace
step create
watch boxes
watch configmaps
ADDED boxes/a
update boxes/a
create configmaps/a
MODIFIED configmaps/a
step change
MODIFIED boxes/a
update configmaps/a
MODIFIED configmaps/a
step delete
MODIFIED boxes/a
%s configmaps/a
DELETED configmaps/a
update boxes/a
DELETED boxes/a
step recreate
ADDED boxes/a
create configmaps/a
MODIFIED configmaps/a
`
	for verb, want := range map[string]map[string]string{
		"delete": {
			"old custom resources":    "boxes on event configmaps a MODIFIED #2 in step change from create; boxes on event configmaps a MODIFIED #1 in step recreate from delete",
			"half of the step before": "on update configmaps a #1 in step change, back before update boxes a #1 in step create; on create configmaps a #1 in step recreate, back before update boxes a #1 in step delete",
		},
		"update": {
			"half of the step before": "on update configmaps a #1 in step change, back before update boxes a #1 in step create; on create configmaps a #1 in step recreate, back before update boxes a #1 in step delete",
		},
	} {
		refs, _ := parsed(t, fmt.Sprintf(trace, verb))
		got := map[string]string{}
		for _, p := range testplan.Sweeps(refs, workload.Workload{Name: "w"}) {
			name := strings.TrimSuffix(strings.TrimPrefix(p.Name, "sweep: "), " | w")
			if !strings.HasPrefix(name, "old ") && !strings.HasPrefix(name, "half ") {
				continue
			}
			var on []string
			for _, f := range p.Faults {
				place := strings.TrimPrefix(strings.TrimPrefix(f.String(), "past "), "after the answer ")
				if f.Step != "" {
					place += " from " + f.Step
				}
				on = append(on, place)
			}
			got[name] = strings.Join(on, "; ")
		}
		if !maps.Equal(got, want) {
			t.Errorf("an operator that is to %s: %q", verb, got)
		}
	}
}

// A request that is repeated is rejected a few times, so that the backoff of the operator stays short.
func TestSweepsLeaveRepeatedRequestsAlone(t *testing.T) {
	t.Parallel()
	refs, _ := parsed(t, "trace\nstep create\ncreate configmaps/c\n"+strings.Repeat("get secrets/key\nupdate boxes.status/a\n", 10))
	sweeps := testplan.Sweeps(refs, workload.Workload{Name: "w"})
	for _, p := range sweeps {
		if !slices.ContainsFunc(p.Faults, func(f fault.Fault) bool { return f.On.Nth == 4 }) || slices.ContainsFunc(p.Faults, func(f fault.Fault) bool { return f.On.Nth > 4 }) {
			t.Errorf("%s: %v", p.Name, p.Faults)
		}
	}
	if len(sweeps) == 0 {
		t.Error("there is no sweep")
	}
}

// Many faults are halved before they are tried one by one.
func TestManyFaultsAreHalved(t *testing.T) {
	t.Parallel()
	p := testplan.Plan{}
	for i := range 12 {
		p.Faults = append(p.Faults, fault.Fault{Kind: fault.Kill, On: fault.Match{Verb: "create", Nth: i + 1}})
	}
	culprit, rounds := p.Faults[7], 0
	for ; len(p.Faults) > 1; rounds++ {
		smaller := testplan.Smaller(p)
		at := slices.IndexFunc(smaller, func(one testplan.Plan) bool { return slices.Contains(one.Faults, culprit) })
		if at < 0 {
			t.Fatalf("nothing smaller has the culprit: %+v", smaller)
		}
		p = smaller[at]
	}
	if rounds > 4 {
		t.Errorf("%d rounds to one of 12 faults", rounds)
	}
}
